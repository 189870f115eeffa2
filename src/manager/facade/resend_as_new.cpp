#include "manager/facade/resend_as_new.hpp"

#include <functional>
#include <optional>
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

const std::string& originalOf(const store::StoredMessage& message) {
  return message.resentOf.empty() ? message.info.messageId : message.resentOf;
}

// The keys make a second call pass over what the first one has stored. An id has no spaces, so they are unique.

std::string keyOfCopyFor(std::string_view peer, const store::StoredMessage& message) {
  return "resent " + originalOf(message) + " to " + std::string(peer);
}

std::string keyOfRepetition(const std::string& id, const store::StoredMessage& message) {
  return "resent " + id + " again to " + message.info.peer;
}

/// A frame of its own for `peer`, at the end of its session. Without the supersede key: an old message must not take
/// the place of a newer one.
Frame frameFor(std::string_view peer, store::StoredMessage&& message, std::string&& key) {
  Frame frame;
  frame.peer = peer;
  frame.resentOf = originalOf(message);
  frame.session = std::move(message.info.session);
  frame.type = std::move(message.info.type);
  frame.data = std::move(message.data);
  frame.expiresAt = message.expiresAt;
  frame.notBefore = message.notBefore;
  frame.priority = static_cast<std::uint8_t>(message.priority);
  frame.traceparent = std::move(message.traceparent);
  frame.correlationId = std::move(message.correlationId);
  frame.idempotencyKey = std::move(key);
  return frame;
}

/// Whether it is a message of the program's own that can be sent.
bool isFit(const store::StoredMessage& message, WallTime now) {
  return !message.isDamaged && message.info.type != protocol::kAckEventType &&
         (!message.expiresAt || *message.expiresAt > now);
}

/// What to do with messages for a peer that was removed.
enum class UnknownPeer : std::uint8_t { ends, isPassedOver };

/// What one transaction stored, up to the first refusal.
ResendReport store(Core& core, const std::vector<Frame>& frames, UnknownPeer unknown) {
  return commitBlocking(core.writer(), true, [&](store::Store& store) {
    ResendReport slice;
    for (const Frame& frame : frames) {
      const EnqueueReceipt receipt = store.outbox().enqueue(frame);
      if (receipt.status == EnqueueStatus::unknownPeer && unknown == UnknownPeer::isPassedOver) {
        continue;
      }
      if (!receipt.accepted()) {
        slice.refusal = receipt.detail;
        slice.refusedAs = receipt.status;
        break;
      }
      ++(receipt.isNew() ? slice.stored : slice.repeated);
    }
    return slice;
  });
}

using MakeFrame = std::function<Frame(store::StoredMessage&& message)>;

/// Stores a frame for each message that matches `filter`, was in the file at the beginning, and is fit. Throws
/// `unknownPeer` with the peer's name if that refuses the first one.
ResendReport storeAll(Core& core, MessageFilter filter, UnknownPeer unknown, const MakeFrame& make) {
  filter.isNewestFirst = false;
  const delivery::MessageKey until =
      commitBlocking(core.writer(), false, [](store::Store& store) { return store.deadLetters().highestKey(); });
  ResendReport report;
  store::StoredPage page;
  do {
    page = core.reader().storedMessages(filter, kSliceRows, page.next);
    std::vector<Frame> frames;
    for (store::StoredMessage& message : page.messages) {
      if (message.info.row <= until && isFit(message, core.options().clock->wallNow())) {
        frames.push_back(make(std::move(message)));
      }
    }
    const ResendReport slice = frames.empty() ? ResendReport() : store(core, frames, unknown);
    report.stored += slice.stored;
    report.repeated += slice.repeated;
    if (slice.refusedAs == EnqueueStatus::unknownPeer && report.stored + report.repeated == 0) {
      throw Error(Errc::unknownPeer, frames.front().peer);
    }
    report.refusal = slice.refusal;
    report.refusedAs = slice.refusedAs;
  } while (page.next != 0 && page.next <= until && report.refusal.empty());
  return report;
}

std::optional<store::StoredMessage> find(const Core& core, std::string_view messageId) {
  const std::optional<MessageInfo> info = core.reader().find(messageId);
  if (!info) {
    return std::nullopt;
  }
  store::StoredPage page = core.reader().storedMessages({}, 1, info->row - 1);
  const bool isIt = !page.messages.empty() && page.messages.front().info.messageId == messageId;
  return isIt ? std::optional(std::move(page.messages.front())) : std::nullopt;
}

}  // namespace

ResendReport resendTo(Core& core, std::string_view peer, const MessageFilter& filter) {
  if (!filter.peer || *filter.peer == peer) {
    throw OptionError("filter.peer", "must be set, to another peer: its messages are resent to this one");
  }
  return storeAll(core, filter, UnknownPeer::ends, [peer](store::StoredMessage&& message) {
    std::string key = keyOfCopyFor(peer, message);
    return frameFor(peer, std::move(message), std::move(key));
  });
}

ResendReport resendAsNew(Core& core, const MessageFilter& filter) {
  if (filter.state.value_or(MessageState::acked) != MessageState::acked) {
    throw OptionError("filter.state", "must be acknowledged, or not be set: only such messages are sent again");
  }
  MessageFilter chosen = filter;
  chosen.state = MessageState::acked;
  return storeAll(core, chosen, UnknownPeer::isPassedOver, [](store::StoredMessage&& message) {
    const std::string peer = message.info.peer;
    std::string key = keyOfRepetition(originalOf(message), message);
    return frameFor(peer, std::move(message), std::move(key));
  });
}

ResendReceipt resendAsNew(Core& core, std::string_view messageId) {
  ResendReceipt receipt;
  std::optional<store::StoredMessage> message = find(core, messageId);
  if (!message) {
    receipt.refusal = Errc::unknownMessage;
    return receipt;
  }
  receipt.state = message->info.state;
  if (receipt.state != MessageState::acked || !isFit(*message, core.options().clock->wallNow())) {
    receipt.refusal = Errc::invalidTransition;
    return receipt;
  }
  const std::string peer = message->info.peer;
  std::string key = keyOfRepetition(message->info.messageId, *message);
  const Frame frame = frameFor(peer, std::move(*message), std::move(key));
  receipt.copy =
      commitBlocking(core.writer(), true, [&](store::Store& store) { return store.outbox().enqueue(frame); });
  return receipt;
}

}  // namespace ackbox::manager
