#include "store/sqlite/outbound/enqueue_steps.hpp"

#include <algorithm>

namespace ackbox::store::sqlite {

EnqueueSteps::EnqueueSteps(sqlite3* connection, const OutboxOptions& options, Clock& clock, Random& random,
                           OutboxRows& rows, Counters& counters, LazySessionRows& lazyRows)
    : options_(options),
      clock_(clock),
      random_(random),
      rows_(rows),
      counters_(counters),
      lazyRows_(lazyRows),
      keys_(connection, options.tablePrefix, options.idempotencyRetention) {}

EnqueueReceipt EnqueueSteps::run(const Frame& frame, std::optional<delivery::PeerKey> peer) {
  if (auto refusal = refuseFrame(frame, peer.has_value(), options_)) {
    return *refusal;
  }
  if (!frame.id.empty() || !frame.idempotencyKey.empty() || !frame.supersedeKey.empty()) {
    // These fields refer to other messages.
    beforeLook();
  }
  const WallTime now = clock_.wallNow();
  // Checked before the limits: a repetition gets its first receipt even if the queue is full.
  if (auto repetition = keys_.find(frame.idempotencyKey, now)) {
    return *repetition;
  }
  if (auto repetition = rows_.repetitionOf(frame)) {
    return *repetition;
  }
  beforeChange(frame);
  const std::vector<Supersedable> replaced = rows_.supersedable(*peer, frame);
  if (auto refusal = refuse(frame, replaced)) {
    return *refusal;
  }
  SessionTail& tail = tailOf({*peer, frame}, frame.priority);
  const SessionTail place = tail.next(frame.priority);
  const delivery::MessageKey key = counters_.value(Counter::lastKey) + 1;
  const MessageId id = messageIdFor(frame, uuids_, random_, now, key);
  EnqueueReceipt receipt{EnqueueStatus::stored, id.text, place.lastSequence, {}};
  insert(NewRow(key, frame, id, place, now), frame);
  append(*peer, tail, place, key, static_cast<std::int64_t>(frame.data.size()));
  supersede(replaced, frame, receipt);
  keys_.remember(frame.idempotencyKey, receipt, now);
  return receipt;
}

// A queue without a message is not full, even if the gauges say so: they are recounted before the commit, and until
// then the limits apply to the fill beyond the excess.
std::optional<EnqueueReceipt> EnqueueSteps::refuse(const Frame& frame, const std::vector<Supersedable>& replaced) {
  const Fill gauges{counters_.live(), counters_.liveBytes()};
  const auto beyond = [this](const Fill& fill) {
    return Fill{fill.rows - std::min(fill.rows, excess_.rows), fill.bytes - std::min(fill.bytes, excess_.bytes)};
  };
  std::optional<EnqueueReceipt> refusal = refuseFull(frame, beyond(gauges), replaced, options_);
  const bool claimsAny = beyond(gauges).rows != 0 || beyond(gauges).bytes != 0;
  if (!refusal || !claimsAny || refuseFull(frame, {}, {}, options_)) {
    return refusal;
  }
  beforeLook();
  if (!isNoneLive()) {
    return refusal;
  }
  counters_.doubt();
  excess_ = gauges;
  return std::nullopt;
}

void EnqueueSteps::append(delivery::PeerKey peer, SessionTail& tail, const SessionTail& place, delivery::MessageKey key,
                          std::int64_t bytes) {
  counters_.append(peer, bytes);
  if (place.unordered) {
    counters_.addLive(place.key);
    return;
  }
  lazyRows_.append(place.key, place.lastSequence, key);
  if (place.priority != tail.priority) {
    rows_.updatePriority(place);
    priorityChanged(place);
  }
  tail = place;
}

void EnqueueSteps::supersede(const std::vector<Supersedable>& messages, const Frame& frame, EnqueueReceipt& receipt) {
  for (const Supersedable& message : messages) {
    rows_.supersede(message);
    counters_.subtractRows(message.session, MessageState::pending, 1, message.bytes);
    counters_.add(Counter::superseded, 1);
    superseded(message, frame, receipt);
    receipt.supersededId = message.messageId;
  }
}

}  // namespace ackbox::store::sqlite
