#include "manager/facade/resend_to.hpp"

#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "manager/facade/jobs.hpp"
#include "protocol/wire.hpp"
#include "store/reader.hpp"
#include "store/store.hpp"

namespace ackbox::manager {
namespace {

// The most rows stored in one transaction, so that the write lock is free again after a few milliseconds.
constexpr std::size_t kSliceRows = 500;

/// A frame of its own for `peer`. The key makes a second call pass over what the first one has stored.
Frame frameFor(std::string_view peer, store::StoredMessage&& message) {
  Frame frame;
  frame.peer = peer;
  frame.session = std::move(message.info.session);
  frame.type = std::move(message.info.type);
  frame.data = std::move(message.data);
  frame.expiresAt = message.expiresAt;
  frame.notBefore = message.notBefore;
  frame.priority = static_cast<std::uint8_t>(message.priority);
  frame.traceparent = std::move(message.traceparent);
  frame.correlationId = std::move(message.correlationId);
  frame.idempotencyKey = "resent " + message.info.messageId + " to " + frame.peer;
  return frame;
}

/// Whether it is a message of the program's own that another peer can be given.
bool isFit(const store::StoredMessage& message, WallTime now) {
  return !message.isDamaged && message.info.type != protocol::kAckEventType &&
         (!message.expiresAt || *message.expiresAt > now);
}

/// What one transaction stored, up to the first refusal.
struct Slice {
  ResendToReport report = {};
  bool isUnknownPeer = false;
};

Slice store(Core& core, const std::vector<Frame>& frames) {
  return commitBlocking(core.writer(), true, [&](store::Store& store) {
    Slice slice;
    for (const Frame& frame : frames) {
      const EnqueueReceipt receipt = store.outbox().enqueue(frame);
      if (!receipt.accepted()) {
        slice.isUnknownPeer = receipt.status == EnqueueStatus::unknownPeer;
        slice.report.refusal = receipt.detail;
        break;
      }
      ++(receipt.isNew() ? slice.report.stored : slice.report.repeated);
    }
    return slice;
  });
}

void requireChoice(std::string_view peer, const MessageFilter& filter) {
  if (!filter.peer || *filter.peer == peer) {
    throw OptionError("filter.peer", "must be set, to another peer: its messages are resent to this one");
  }
}

}  // namespace

ResendToReport resendTo(Core& core, std::string_view peer, const MessageFilter& filter) {
  requireChoice(peer, filter);
  MessageFilter chosen = filter;
  chosen.isNewestFirst = false;
  const delivery::MessageKey until =
      commitBlocking(core.writer(), false, [](store::Store& store) { return store.deadLetters().highestKey(); });
  ResendToReport report;
  store::StoredPage page;
  do {
    page = core.reader().storedMessages(chosen, kSliceRows, page.next);
    std::vector<Frame> frames;
    for (store::StoredMessage& message : page.messages) {
      if (message.info.row <= until && isFit(message, core.options().clock->wallNow())) {
        frames.push_back(frameFor(peer, std::move(message)));
      }
    }
    const Slice slice = frames.empty() ? Slice() : store(core, frames);
    if (slice.isUnknownPeer) {
      throw Error(Errc::unknownPeer, std::string(peer));
    }
    report.stored += slice.report.stored;
    report.repeated += slice.report.repeated;
    report.refusal = slice.report.refusal;
  } while (page.next != 0 && page.next <= until && report.refusal.empty());
  return report;
}

}  // namespace ackbox::manager
