#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace ackbox::store::postgres {

/// A statement that limits how long others wait for a lock; `scope` is empty or `LOCAL `.
inline std::string setLockWait(std::string_view scope, std::chrono::milliseconds most) {
  // 0 would be for ever.
  return std::string("SET ")
      .append(scope)
      .append("lock_timeout=")
      .append(std::to_string(std::max(most, std::chrono::milliseconds(1)).count()));
}

}  // namespace ackbox::store::postgres
