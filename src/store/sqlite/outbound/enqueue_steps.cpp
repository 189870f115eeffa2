#include "store/sqlite/outbound/enqueue_steps.hpp"

#include <algorithm>
#include <string>
#include <utility>

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
  if (auto repetition = keys_.find(frame, *peer, now)) {
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
  EnqueueReceipt receipt = store(*peer, frame, replaced, now);
  keys_.remember(frame, *peer, receipt, now);
  return receipt;
}

EnqueueReceipt EnqueueSteps::store(delivery::PeerKey peer, const Frame& frame,
                                   const std::vector<Supersedable>& replaced, WallTime now) {
  SessionTail& tail = tailOf({peer, frame}, frame.priority);
  const SessionTail place = tail.next(frame.priority);
  const delivery::MessageKey key = counters_.value(Counter::lastKey) + 1;
  const MessageId id = messageIdFor(frame, uuids_, random_, now, key);
  EnqueueReceipt receipt{EnqueueStatus::stored, id.text, place.lastSequence, {}};
  insert(NewRow(key, frame, id, place, now), frame);
  append(peer, tail, place, key, static_cast<std::int64_t>(frame.data.size()));
  supersede(replaced, frame, receipt);
  return receipt;
}

// Everything that refuses comes before the first row, so that no row has to be taken back.
PublishReceipt EnqueueSteps::publish(const Frame& frame, std::span<const Subscriber> subscribers) {
  if (auto refusal = refusePublish(frame, subscribers.size(), options_)) {
    return *refusal;
  }
  if (!frame.idempotencyKey.empty() || !frame.supersedeKey.empty()) {
    beforeLook();
  }
  const WallTime now = clock_.wallNow();
  if (auto repetition = keys_.findPublished(frame, now)) {
    return *repetition;
  }
  PublishReceipt receipt;
  if (subscribers.empty()) {
    receipt = publishedToNobody();
    keys_.rememberPublished(frame, {}, receipt, now);
    return receipt;
  }
  beforeChange(frame);
  std::vector<std::vector<Supersedable>> replaced;
  std::vector<Supersedable> replacedByAny;
  for (const Subscriber& subscriber : subscribers) {
    replaced.push_back(rows_.supersedable(subscriber.peer, frame));
    replacedByAny.insert(replacedByAny.end(), replaced.back().begin(), replaced.back().end());
  }
  if (const auto refusal = refuse(frame, replacedByAny, subscribers.size())) {
    return refusedFull(*refusal, subscribers.size());
  }
  Frame one = frame;
  for (std::size_t index = 0; index < subscribers.size(); ++index) {
    one.peer = subscribers[index].name;
    EnqueueReceipt stored = store(subscribers[index].peer, one, replaced[index], now);
    receipt.messages.push_back(
        {one.peer, std::move(stored.messageId), stored.sequence, std::move(stored.supersededId)});
  }
  keys_.rememberPublished(frame, subscribers, receipt, now);
  return receipt;
}

// A queue without a message is not full, even if the gauges say so: they are recounted before the commit, and until
// then the limits apply to the fill beyond the excess.
std::optional<EnqueueReceipt> EnqueueSteps::refuse(const Frame& frame, const std::vector<Supersedable>& replaced,
                                                   std::size_t times) {
  const Fill gauges{counters_.live(), counters_.liveBytes()};
  const auto beyond = [this](const Fill& fill) {
    return Fill{fill.rows - std::min(fill.rows, excess_.rows), fill.bytes - std::min(fill.bytes, excess_.bytes)};
  };
  std::optional<EnqueueReceipt> refusal =
      refuseFull(frame, withOthers(beyond(gauges), frame, times), replaced, options_);
  const bool claimsAny = beyond(gauges).rows != 0 || beyond(gauges).bytes != 0;
  if (!refusal || !claimsAny || refuseFull(frame, withOthers({}, frame, times), {}, options_)) {
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
