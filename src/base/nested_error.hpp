#pragma once

#include <string>

#include "ackbox/error.hpp"

namespace ackbox {

/// `cause` with `where` before its circumstances: the code stays that of the cause, and its text is said once.
[[nodiscard]] inline Error nested(const std::string& where, const Error& cause) {
  std::string circumstances = cause.what();
  const std::string text = ": " + cause.code().message();
  if (circumstances.ends_with(text)) {
    circumstances.resize(circumstances.size() - text.size());
  }
  return {static_cast<Errc>(cause.code().value()), where + circumstances};
}

}  // namespace ackbox
