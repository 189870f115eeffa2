#include "store/decisions/enqueue_limits.hpp"

#include <string>

namespace ackbox::store {
namespace {

// Of the messages of one publish together: they are in memory until its commit.
constexpr std::size_t kPublishBytesMax = std::size_t{256} << 20U;

}  // namespace

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

Fill withOthers(Fill fill, const Frame& frame, std::size_t subscribers) {
  fill.rows += subscribers - 1;
  fill.bytes += (subscribers - 1) * frame.data.size();
  return fill;
}

std::optional<PublishReceipt> refusePublish(const Frame& frame, std::size_t subscribers, const OutboxOptions& options) {
  if (!frame.id.empty()) {
    return PublishReceipt{PublishStatus::invalidFrame,
                          {},
                          "id must be empty: each subscriber's message has its own; idempotencyKey makes a publish "
                          "happen once"};
  }
  if (const auto refusal = refuseFrame(frame, true, options)) {
    return PublishReceipt{PublishStatus::frameTooLarge, {}, refusal->detail};
  }
  if (subscribers != 0 && frame.data.size() > kPublishBytesMax / subscribers) {
    return PublishReceipt{PublishStatus::frameTooLarge,
                          {},
                          "data has " + std::to_string(frame.data.size()) + " bytes, and " +
                              std::to_string(subscribers) + " subscribers would get more than 256 MiB"};
  }
  return std::nullopt;
}

PublishReceipt refusedFull(const EnqueueReceipt& refusal, std::size_t subscribers) {
  return {PublishStatus::queueFull,
          {},
          refusal.detail + "; one message for each of " + std::to_string(subscribers) +
              " subscribers does not fit, and none was stored"};
}

PublishReceipt publishedToNobody() {
  return {PublishStatus::noSubscriber, {}, "no subscription fits the frame's type and session, so nothing was stored"};
}

}  // namespace ackbox::store
