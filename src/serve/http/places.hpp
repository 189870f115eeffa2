#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ackbox::serve {

/// How many requests of each kind may be open at once that go on for long. Each has a connection: together they leave
/// some to requests that end at once, such as `GET /healthz`, however few connections there are.
struct Places {
  /// That wait for a message.
  std::size_t waits = 0;
  std::size_t frameStreams = 0;
  std::size_t eventStreams = 0;
  /// That wait for the file.
  std::size_t work = 0;

  /// Of `connections`: a half, a quarter, a thirty-second and an eighth. So at least one in eleven is left, and one.
  [[nodiscard]] static constexpr Places of(std::size_t connections) {
    const auto part = [connections](std::size_t divisor) { return std::max<std::size_t>(connections / divisor, 1); };
    return {part(2), part(4), part(32), part(8)};
  }
};

/// Whether a caller that has `own` of `most` places may take one more, where `taken` are taken. One with a token may
/// have as many as it leaves free: alone a half of all, and with others like it an equal share of them. An empty caller
/// is all that need no token, and may have all.
[[nodiscard]] constexpr bool mayTakePlace(std::size_t most, std::size_t taken, std::string_view caller,
                                          std::size_t own) {
  return taken < most && (caller.empty() || own < most - taken);
}

}  // namespace ackbox::serve
