#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "protocol/wire.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// The checks that need no store, in the caller's thread: the receipt is `stored` if the frame passes.
inline EnqueueReceipt checkFrame(const Frame& frame, const OutboxOptions& options) {
  EnqueueReceipt receipt;
  receipt.messageId = frame.id;
  if (frame.data.size() > options.frameBytesMax) {
    receipt.status = EnqueueStatus::frameTooLarge;
    receipt.detail = "data has " + std::to_string(frame.data.size()) + " bytes; frameBytesMax allows " +
                     std::to_string(options.frameBytesMax);
  } else if (std::optional<std::string> problem = protocol::frameProblem(frame)) {
    receipt.status = EnqueueStatus::invalidFrame;
    receipt.detail = std::move(*problem);
  }
  return receipt;
}

/// The same for a frame to be published.
inline PublishReceipt checkPublished(const Frame& frame, const OutboxOptions& options) {
  EnqueueReceipt checked = checkFrame(frame, options);
  if (checked.accepted()) {
    return {};
  }
  const bool isTooLarge = checked.status == EnqueueStatus::frameTooLarge;
  return {isTooLarge ? PublishStatus::frameTooLarge : PublishStatus::invalidFrame, {}, std::move(checked.detail)};
}

inline std::vector<EnqueueReceipt> checkFrames(std::span<const Frame> frames, const OutboxOptions& options) {
  std::vector<EnqueueReceipt> receipts;
  receipts.reserve(frames.size());
  for (const Frame& frame : frames) {
    receipts.push_back(checkFrame(frame, options));
  }
  return receipts;
}

inline bool nothingToStore(std::span<const EnqueueReceipt> checked) {
  return std::none_of(checked.begin(), checked.end(), [](const EnqueueReceipt& one) { return one.accepted(); });
}

/// The work of a job: stores the frames that passed `checkFrames`; the others keep their refusal. May run again from
/// the start.
struct FramesToStore {
  std::span<const Frame> frames;
  std::span<const EnqueueReceipt> checked;

  std::vector<EnqueueReceipt> operator()(store::Store& store) const {
    std::vector<EnqueueReceipt> receipts(checked.begin(), checked.end());
    for (std::size_t index = 0; index < frames.size(); ++index) {
      if (checked[index].accepted()) {
        receipts[index] = store.outbox().enqueue(frames[index]);
      }
    }
    return receipts;
  }
  void announce(std::vector<const Frame*>& announced) const {
    for (std::size_t index = 0; index < frames.size(); ++index) {
      if (checked[index].accepted()) {
        announced.push_back(&frames[index]);
      }
    }
  }
};

/// The same for a frame of the job's own, which has passed `checkFrame`.
struct FrameToStore {
  Frame frame;

  EnqueueReceipt operator()(store::Store& store) const { return store.outbox().enqueue(frame); }
  void announce(std::vector<const Frame*>& announced) const { announced.push_back(&frame); }
};

/// The same for all subscribers, of a frame that has passed `checkPublished`.
struct FrameToPublish {
  explicit FrameToPublish(Frame given) : frame(std::move(given)) { frame.peer = kAllSubscribers; }

  PublishReceipt operator()(store::Store& store) const { return store.outbox().publish(frame); }
  void announce(std::vector<const Frame*>& announced) const { announced.push_back(&frame); }

  Frame frame;
};

}  // namespace ackbox::manager
