#pragma once

#include <cstddef>
#include <string_view>

namespace ackbox::serve {

// Parts of a valid `traceparent` of W3C Trace Context: `00-TRACE-SPAN-FLAGS`.

[[nodiscard]] constexpr std::string_view traceIdOf(std::string_view traceparent) {
  constexpr std::size_t kAt = 3;
  constexpr std::size_t kLength = 32;
  return traceparent.substr(kAt, kLength);
}

[[nodiscard]] constexpr std::string_view spanIdOf(std::string_view traceparent) {
  constexpr std::size_t kAt = 36;
  constexpr std::size_t kLength = 16;
  return traceparent.substr(kAt, kLength);
}

/// False for an empty `traceparent`.
[[nodiscard]] constexpr bool isSampled(std::string_view traceparent) {
  constexpr std::size_t kLastFlagsAt = 54;
  const char digit = traceparent.size() <= kLastFlagsAt ? '0' : traceparent[kLastFlagsAt];
  return (digit >= 'a' ? digit - 'a' : digit - '0') % 2 == 1;
}

}  // namespace ackbox::serve
