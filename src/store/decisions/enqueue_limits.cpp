#include "store/decisions/enqueue_limits.hpp"

#include <string>

namespace ackbox::store {

std::optional<EnqueueReceipt> refuseFrame(const Frame& frame, bool peerKnown, const OutboxOptions& options) {
  if (!peerKnown) {
    return EnqueueReceipt{EnqueueStatus::unknownPeer, frame.id, 0,
                          "no peer is configured by the name of the frame's peer: add it to the peers of the agent"};
  }
  if (frame.data.size() > options.frameBytesMax) {
    return EnqueueReceipt{EnqueueStatus::frameTooLarge, frame.id, 0,
                          "data has " + std::to_string(frame.data.size()) + " bytes, frameBytesMax is " +
                              std::to_string(options.frameBytesMax)};
  }
  return std::nullopt;
}

std::optional<EnqueueReceipt> refuseFull(const Frame& frame, const Fill& fill, const OutboxOptions& options) {
  const auto refuse = [&frame](const char* limit, std::uint64_t value) {
    return EnqueueReceipt{EnqueueStatus::queueFull, frame.id, 0,
                          std::string(limit) + " = " + std::to_string(value) + " is reached: try again later"};
  };
  if (options.maxPending != 0 && fill.rows >= options.maxPending) {
    return refuse("maxPending", options.maxPending);
  }
  if (options.maxPendingBytes != 0 && fill.bytes + frame.data.size() > options.maxPendingBytes) {
    return refuse("maxPendingBytes", options.maxPendingBytes);
  }
  return std::nullopt;
}

}  // namespace ackbox::store
