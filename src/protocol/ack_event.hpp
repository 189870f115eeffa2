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

/// The most results of an ACK event.
inline constexpr std::size_t kAckEventResultsMax = 256;

/// The outcome of a frame for its ACK event. The referenced data must outlive the encoding.
struct AckEventEntry {
  std::string_view id;
  /// The message's number that was taken, as a redrive gives it a new one; 0: there is no number.
  std::uint64_t sequence = 0;
  const FrameResult* result = nullptr;
  /// The time of the enqueue that was taken, for a message without numbers.
  std::optional<WallTime> time = {};
};

/// The data of an ACK event with 1 to `kAckEventResultsMax` results. A handler's JSON is left out without
/// `carriesResults`, if it is too deep, or if together with the previous ones it exceeds `kResultBytesMax`.
[[nodiscard]] std::string encodeAckEvent(std::span<const AckEventEntry> entries, bool carriesResults);

}  // namespace ackbox::protocol
