#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ackbox::protocol {

/// Lengths in bytes that `proto/README.md` states; both directions use the same ones, so that what one side may
/// enqueue the other side takes.
inline constexpr std::size_t kIdBytesMax = 128;
inline constexpr std::size_t kTypeBytesMax = 256;
inline constexpr std::size_t kSessionBytesMax = 256;
inline constexpr std::size_t kKeyBytesMax = 256;
inline constexpr std::size_t kAgentBytesMax = 1024;
inline constexpr std::size_t kTraceparentBytesMax = 256;
inline constexpr std::size_t kCodeBytesMax = 128;
inline constexpr std::size_t kDetailBytesMax = 512;

/// The most that a frame's attributes take on the wire, with their names. JSON doubles quotes and backslashes, so a
/// frame whose texts are full of them may take more.
inline constexpr std::size_t kEnvelopeBytesMax = 4096;
// The names of all members, two times, two numbers and the punctuation take 512.
static_assert(2 * kAgentBytesMax + 3 * kIdBytesMax + kTypeBytesMax + kSessionBytesMax + kTraceparentBytesMax + 512 <=
              kEnvelopeBytesMax);

/// Levels that the wire puts around a frame's data (the batch and the event) and around a handler's result (the
/// document, the list of results and the result's entry).
inline constexpr std::size_t kDataNesting = 2;
inline constexpr std::size_t kResultNesting = 3;
inline constexpr std::size_t kAnswerDepthMax = 64;

/// Handlers' results that one ACK document carries, all together. Leaves room for the rest under the 1 MiB that a
/// sender reads.
inline constexpr std::size_t kResultBytesMax = 256UL * 1024;

/// No peer may silence a sender for longer.
inline constexpr std::chrono::milliseconds kRetryAfterMax = std::chrono::hours(1);

/// No grant is believed beyond these.
inline constexpr std::uint64_t kCreditFramesMax = 256;
inline constexpr std::uint64_t kCreditBytesMax = 1ULL << 30U;

}  // namespace ackbox::protocol
