#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ackbox::protocol {

/// Lengths in bytes that `proto/README.md` states. Both directions use the same limits, so that the receiver accepts
/// every frame that the sender may enqueue.
inline constexpr std::size_t kIdBytesMax = 128;
inline constexpr std::size_t kTypeBytesMax = 256;
inline constexpr std::size_t kSessionBytesMax = 256;
inline constexpr std::size_t kKeyBytesMax = 256;
inline constexpr std::size_t kAgentBytesMax = 1024;
inline constexpr std::size_t kTraceparentBytesMax = 256;
inline constexpr std::size_t kCodeBytesMax = 128;
inline constexpr std::size_t kDetailBytesMax = 512;

/// The usual maximum of a frame's attributes on the wire, with their names. JSON doubles quotes and backslashes, so a
/// frame with many of them may take more.
inline constexpr std::size_t kEnvelopeBytesMax = 4096;
// The names of all members, two times, two numbers and the punctuation take 512.
static_assert(2 * kAgentBytesMax + 3 * kIdBytesMax + kTypeBytesMax + kSessionBytesMax + kTraceparentBytesMax + 512 <=
              kEnvelopeBytesMax);

/// Levels that the wire puts around a frame's data (the batch and the event) and around a handler's result (the
/// document, the list of results and the result's entry).
inline constexpr std::size_t kDataNesting = 2;
inline constexpr std::size_t kResultNesting = 3;
inline constexpr std::size_t kAnswerDepthMax = 64;

/// The limit of all handlers' results in one ACK document together. It leaves room for the rest under the 1 MiB that a
/// sender reads.
inline constexpr std::size_t kResultBytesMax = 256UL * 1024;

/// The longest pause that a peer may ask of a sender.
inline constexpr std::chrono::milliseconds kRetryAfterMax = std::chrono::hours(1);

/// Larger grants are cut to these.
inline constexpr std::uint64_t kCreditFramesMax = 256;
inline constexpr std::uint64_t kCreditBytesMax = 1ULL << 30U;

}  // namespace ackbox::protocol
