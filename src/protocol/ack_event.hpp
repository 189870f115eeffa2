#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// How many results an ACK event has at most.
inline constexpr std::size_t kAckEventResultsMax = 256;

/// The outcome of a frame for its ACK event. All that it names outlives the encoding.
struct AckEventEntry {
  std::string_view id;
  /// The one of the message's numbers that was taken, as a redrive gives it a new one; 0: none.
  std::uint64_t sequence = 0;
  const FrameResult* result = nullptr;
  /// Says the same of a message without numbers.
  std::optional<WallTime> time = {};
};

/// The data of an ACK event with 1 to `kAckEventResultsMax` results. Without `carriesResults`, or where it is too deep,
/// or where it and those before it are more than `kResultBytesMax` together, a handler's JSON is left out.
[[nodiscard]] std::string encodeAckEvent(std::span<const AckEventEntry> entries, bool carriesResults);

}  // namespace ackbox::protocol
