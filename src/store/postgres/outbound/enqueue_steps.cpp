#include "store/postgres/outbound/enqueue_steps.hpp"

#include <algorithm>
#include <utility>

#include "store/decisions/enqueue_limits.hpp"

namespace ackbox::store::postgres {
namespace {

SessionName sessionNameOf(delivery::PeerKey peer, const Frame& frame) {
  return {peer, frame.session, frame.session.empty() ? frame.priority + 1 : 0};
}

}  // namespace

EnqueueSteps::EnqueueSteps(Context& context, NewRows& rows)
    : context_(context), rows_(rows), keys_(context), vacated_(context) {}

void EnqueueSteps::begun() noexcept {
  stored = 0;
  lastStored.clear();
  superseded.clear();
}

EnqueueReceipt EnqueueSteps::enqueue(const Frame& frame, std::optional<delivery::PeerKey> peer) {
  if (auto refusal = refuseFrame(frame, peer.has_value(), context_.options)) {
    return *refusal;
  }
  const WallTime now = context_.now();
  // Checked before the limits: a repetition gets its first receipt even if the queue is full.
  if (auto repetition = keys_.find(frame, *peer, now)) {
    return *repetition;
  }
  if (auto repetition = repetitionOf(frame)) {
    return *repetition;
  }
  const std::vector<Supersedable> replaced = supersedable(*peer, frame);
  if (auto refusal = refuse(frame, replaced)) {
    return *refusal;
  }
  EnqueueReceipt receipt = store(*peer, frame, replaced, now);
  keys_.remember(frame, *peer, receipt, now);
  return receipt;
}

// Everything that refuses comes before the first row, so that no row has to be taken back.
PublishReceipt EnqueueSteps::publish(const Frame& frame, std::span<const Subscriber> subscribers) {
  if (auto refusal = refusePublish(frame, subscribers.size(), context_.options)) {
    return *refusal;
  }
  const WallTime now = context_.now();
  if (auto repetition = keys_.findPublished(frame, now)) {
    return *repetition;
  }
  PublishReceipt receipt;
  if (subscribers.empty()) {
    receipt = publishedToNobody();
    keys_.rememberPublished(frame, {}, receipt, now);
    return receipt;
  }
  std::vector<std::vector<Supersedable>> replaced;
  std::vector<Supersedable> replacedByAny;
  for (const Subscriber& subscriber : subscribers) {
    replaced.push_back(supersedable(subscriber.peer, frame));
    replacedByAny.insert(replacedByAny.end(), replaced.back().begin(), replaced.back().end());
  }
  if (const auto refusal = refuse(frame, replacedByAny, subscribers.size())) {
    return refusedFull(*refusal, subscribers.size());
  }
  Frame one = frame;
  for (std::size_t index = 0; index < subscribers.size(); ++index) {
    one.peer = subscribers[index].name;
    EnqueueReceipt made = store(subscribers[index].peer, one, replaced[index], now);
    receipt.messages.push_back({one.peer, std::move(made.messageId), made.sequence, std::move(made.supersededId)});
  }
  keys_.rememberPublished(frame, subscribers, receipt, now);
  return receipt;
}

// Of two enqueues of one id at the same time, the index refuses one, whose transaction then begins again.
std::optional<EnqueueReceipt> EnqueueSteps::repetitionOf(const Frame& frame) {
  if (frame.id.empty()) {
    return std::nullopt;
  }
  context_.flushRows();
  const Result result = context_.connection.run("SELECT sequence FROM #outbox WHERE message_id=$1", frame.id);
  return result.empty() ? std::nullopt
                        : std::optional(EnqueueReceipt{
                              EnqueueStatus::duplicate, frame.id, result.front().as<std::uint64_t>(0), {}});
}

std::vector<EnqueueSteps::Supersedable> EnqueueSteps::supersedable(delivery::PeerKey peer, const Frame& frame) {
  std::vector<Supersedable> found;
  if (frame.supersedeKey.empty() || frame.session.empty()) {
    return found;
  }
  context_.flushRows();
  // Behind the gate, so that two messages of one key do not both stay. A refused frame leaves no session behind.
  const SessionTail* const tail = rows_.findTail(sessionNameOf(peer, frame));
  if (tail == nullptr) {
    return found;
  }
  const delivery::SessionKey session = tail->session;
  for (const Row& row : context_.connection.run("SELECT * FROM #supersedable($1,$2)", session, frame.supersedeKey)) {
    found.push_back(
        {row.integer(0), session, row.text(1), row.as<std::uint64_t>(2), row.integer(3), row.integer(4) != 0});
  }
  return found;
}

std::optional<EnqueueReceipt> EnqueueSteps::refuse(const Frame& frame, std::span<const Supersedable> replaced,
                                                   std::size_t times) {
  if (context_.options.maxPending == 0 && context_.options.maxPendingBytes == 0) {
    return std::nullopt;
  }
  if (isNearFull(times, times * frame.data.size())) {
    context_.counts.refresh();
  }
  Fill fill = withOthers(context_.counts.fill(), frame, times);
  fill.rows -= std::min<std::uint64_t>(fill.rows, replaced.size());
  for (const Supersedable& message : replaced) {
    fill.bytes -= std::min(fill.bytes, static_cast<std::uint64_t>(message.bytes));
  }
  return refuseFull(frame, fill, context_.options);
}

bool EnqueueSteps::isNearFull(std::size_t messages, std::size_t bytes) {
  if (context_.options.maxPending == 0 && context_.options.maxPendingBytes == 0) {
    return false;
  }
  const Fill fill = context_.counts.recent(context_.clock.steadyNow()).fill();
  const auto isAboveHalf = [](std::uint64_t value, std::uint64_t limit) { return limit != 0 && value > limit / 2; };
  return isAboveHalf(fill.rows + messages, context_.options.maxPending) ||
         isAboveHalf(fill.bytes + bytes, context_.options.maxPendingBytes);
}

EnqueueReceipt EnqueueSteps::store(delivery::PeerKey peer, const Frame& frame, std::span<const Supersedable> replaced,
                                   WallTime now) {
  const bool isOrdered = !frame.session.empty();
  SessionTail& tail = rows_.tailOf(sessionNameOf(peer, frame), frame.priority);
  NewRow row{
      .key = rows_.newKey(tail), .session = tail.session, .enqueuedAt = now, .messageId = frame.id, .frame = frame};
  if (isOrdered) {
    row.sequence = ++tail.lastSequence;
    rows_.setPriority(tail, frame.priority);
  }
  if (row.messageId.empty()) {
    row.messageId = toString(uuids_.next(now, context_.random, row.key));
  }
  // An instant in the past is no delay, even if the clock is set back later.
  row.notBefore = frame.notBefore && *frame.notBefore > now ? frame.notBefore : std::nullopt;
  EnqueueReceipt receipt{EnqueueStatus::stored, row.messageId, row.sequence, {}};
  rows_.add(std::move(row));
  ++stored;
  lastStored = receipt.messageId;
  context_.counts.addRows(peer, MessageState::pending, 1, static_cast<std::int64_t>(frame.data.size()));
  context_.counts.add(peer, Count::enqueued, 1);
  supersede(peer, replaced, frame, receipt);
  return receipt;
}

void EnqueueSteps::supersede(delivery::PeerKey peer, std::span<const Supersedable> messages, const Frame& frame,
                             EnqueueReceipt& receipt) {
  std::vector<std::int64_t> keys;
  for (const Supersedable& message : messages) {
    if (message.wasTried) {
      vacated_.keep(message.key, VacatedNumbers::Unless::untried);
    }
    keys.push_back(message.key);
    context_.counts.addRows(peer, MessageState::pending, -1, message.bytes);
    context_.counts.add(peer, Count::superseded, 1);
    superseded.push_back({.message = {message.key, message.session, message.messageId, message.sequence},
                          .peer = frame.peer,
                          .session = frame.session,
                          .byMessageId = receipt.messageId,
                          .bySequence = receipt.sequence});
    receipt.supersededId = message.messageId;
  }
  if (!keys.empty()) {
    // Their session has a later message, which says its last number.
    rows_.outdate(messages.front().session);
    context_.connection.run("DELETE FROM #outbox WHERE id=ANY($1::bigint[])", std::string_view(arrayOf(keys)));
  }
}

}  // namespace ackbox::store::postgres
