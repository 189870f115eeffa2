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

  /// The most streams of frames that are allowed with this many connections, so that requests have the rest.
  [[nodiscard]] static constexpr std::size_t frameStreamsMost(std::size_t connections) {
    return std::max<std::size_t>(connections - connections / 4, 1);
  }
  /// Takes `streams` of `connections` for streams of frames, or 1/2 if that is 0, and at most `frameStreamsMost`; of
  /// the rest 1/2, 1/32 and 1/4. Leaves a fifth of the rest, and at least one of 32 connections or more.
  [[nodiscard]] static constexpr Places of(std::size_t connections, std::size_t streams = 0) {
    const std::size_t frames = std::min(streams > 0 ? streams : connections / 2, frameStreamsMost(connections));
    const std::size_t rest = connections - std::min(frames, connections);
    const auto part = [rest](std::size_t divisor) { return std::max<std::size_t>(rest / divisor, 1); };
    return {part(2), std::max<std::size_t>(frames, 1), part(32), part(4)};
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
