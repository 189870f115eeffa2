#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ackbox::serve {

/// How many long-lived requests of each kind may be open at once. Each has a connection: the limits leave some
/// connections to short requests, such as `GET /healthz`, however few connections there are.
struct Places {
  /// Requests that wait for a message.
  std::size_t waits = 0;
  std::size_t frameStreams = 0;
  std::size_t eventStreams = 0;
  /// Requests that wait for the file.
  std::size_t work = 0;

  /// Takes 1/2, 1/4, 1/32 and 1/8 of `connections`. Leaves at least one, and at least one in eleven.
  [[nodiscard]] static constexpr Places of(std::size_t connections) {
    const auto part = [connections](std::size_t divisor) { return std::max<std::size_t>(connections / divisor, 1); };
    return {part(2), part(4), part(32), part(8)};
  }
};

/// Whether a caller that has `own` of `most` places may take one more while `taken` are taken. A caller with a token
/// may have as many places as it leaves free: alone a half of all, and with other such callers an equal share. The
/// empty caller stands for all requests that need no token, and may take all places.
[[nodiscard]] constexpr bool mayTakePlace(std::size_t most, std::size_t taken, std::string_view caller,
                                          std::size_t own) {
  return taken < most && (caller.empty() || own < most - taken);
}

}  // namespace ackbox::serve
