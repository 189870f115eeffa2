#include "store/outbox.hpp"

#include <utility>

namespace ackbox::store {
namespace {

// About 10 MB of names and tails; the next enqueue of a forgotten session reads its row again.
constexpr std::size_t kCachedSessionsMax = 100'000;

}  // namespace

Outbox::Outbox(Context& context, const Peers& peers)
    : context_(context),
      peers_(peers),
      rows_(context.connection.handle(), context.connection.prefix()),
      keys_(context.connection.handle(), context.connection.prefix(), context.options.idempotencyRetention),
      // REPLACE takes the old row away, as both have the one message id.
      // Its age begins anew, or the horizon that failed it would fail it again at once.
      redrive_(context.prepare(
          "REPLACE INTO #outbox(id,session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,"
          "message_id,type,traceparent,correlation_id,last_error,data) SELECT ?4,session_id,?2,0,0,0,?3,0,"
          "expires_at_ms,message_id,type,traceparent,correlation_id,last_error,data FROM #outbox WHERE id=?1 AND "
          "state=4")),
      bytesOf_(context.prepare("SELECT length(data) FROM #outbox WHERE id=?1")) {}

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* peer = peers_.find(frame.peer);
  if (auto refusal = refuseFrame(frame, peer != nullptr, context_.options)) {
    return *refusal;
  }
  const WallTime now = context_.clock.wallNow();
  if (auto repetition = keys_.find(frame.idempotencyKey, now)) {
    return *repetition;
  }
  Counters& counters = context_.counters;
  const std::vector<Supersedable> leaving = rows_.supersedable(peer->key, frame);
  if (auto refusal =
          refuseFull(frame, counters.live(), static_cast<std::uint64_t>(counters.value(Counter::pendingBytes)), leaving,
                     context_.options)) {
    // A repetition is told the truth even while the queue is full.
    return repetitionOf(frame).value_or(*refusal);
  }
  CachedTail& cached = tailOf({peer->key, frame}, frame.priority);
  const SessionTail place = cached.tail.next(frame.priority);
  EnqueueReceipt receipt{EnqueueStatus::stored, frame.id, place.lastSequence, {}};
  if (receipt.messageId.empty()) {
    receipt.messageId = uuids_.next(now, context_.random);
  }
  const delivery::MessageKey key = counters.value(Counter::lastKey) + 1;
  if (!rows_.insert(key, frame, receipt.messageId, place, now)) {
    receipt.status = EnqueueStatus::duplicate;
    receipt.sequence = rows_.sequenceOf(receipt.messageId).value_or(0);
    return receipt;
  }
  append(cached, place, {key, place.key, MessageState::pending, frame.notBefore.value_or(WallTime{}), frame.priority});
  if (context_.claimCache.hasRoom()) {
    remember(key, frame, receipt.messageId, place, now);
  }
  counters.enter(place.key, MessageState::pending, 1, static_cast<std::int64_t>(frame.data.size()));
  counters.add(place.key, Counter::enqueued, 1);
  counters.add(Counter::lastKey, 1);
  supersede(leaving, frame, receipt);
  keys_.remember(frame.idempotencyKey, receipt, now);
  return receipt;
}

std::optional<EnqueueReceipt> Outbox::repetitionOf(const Frame& frame) {
  const auto sequence = frame.id.empty() ? std::nullopt : rows_.sequenceOf(frame.id);
  return sequence ? std::optional(EnqueueReceipt{EnqueueStatus::duplicate, frame.id, *sequence, {}}) : std::nullopt;
}

void Outbox::remember(delivery::MessageKey key, const Frame& frame, const std::string& messageId,
                      const SessionTail& place, WallTime now) {
  OutboxRow row;
  row.session = place.key;
  row.notBefore = OutboxRows::delayOf(frame, now);
  row.dueAt = row.notBefore.value_or(WallTime{});
  row.frame.messageId = messageId;
  row.frame.type = frame.type;
  row.frame.data = frame.data;
  row.frame.sequence = place.lastSequence;
  row.frame.enqueuedAt = now;
  row.frame.expiresAt = frame.expiresAt;
  row.frame.traceparent = frame.traceparent;
  row.frame.correlationId = frame.correlationId;
  context_.claimCache.add(key, std::move(row));
}

void Outbox::supersede(const std::vector<Supersedable>& messages, const Frame& frame, EnqueueReceipt& receipt) {
  for (const Supersedable& message : messages) {
    rows_.remove(message.key);
    static_cast<void>(context_.claimCache.take(message.key));
    context_.counters.leave(message.session, MessageState::pending, 1, message.bytes);
    context_.counters.add(Counter::superseded, 1);
    context_.oldest.settled(message.key);
    superseded_.push_back({.message = {message.key, message.session, message.messageId, message.sequence},
                           .peer = frame.peer,
                           .session = frame.session,
                           .byMessageId = receipt.messageId,
                           .bySequence = receipt.sequence});
    receipt.supersededId = message.messageId;
  }
}

std::uint64_t Outbox::redrive(const Redrive& letter) {
  CachedTail unordered{{letter.session, 0, kPriorityDefault, true}, false};
  CachedTail& cached = letter.sequence == 0 ? unordered : tailOf({letter.peer, letter.sessionName}, kPriorityDefault);
  const SessionTail place = cached.tail.next(cached.tail.priority);
  const delivery::MessageKey newKey = context_.counters.value(Counter::lastKey) + 1;
  if (Query(redrive_, letter.key, place.lastSequence, context_.clock.wallNow(), newKey).run() == 0) {
    throw Error(Errc::invalidTransition, "only a dead letter is redriven");
  }
  context_.counters.add(Counter::lastKey, 1);
  append(cached, place, {newKey, place.key, MessageState::pending, {}, {}});
  Query size(bytesOf_, newKey);
  size.next();
  context_.counters.leave(place.key, MessageState::failed, 1, 0);
  context_.counters.enter(place.key, MessageState::pending, 1, size.integer(0));
  return place.lastSequence;
}

void Outbox::append(CachedTail& cached, const SessionTail& place, const delivery::RowSeen& row) {
  stored_.push_back(row);
  if (place.unordered) {
    return;
  }
  cached.tail = place;
  if (!std::exchange(cached.dirty, true)) {
    dirty_.push_back(&cached);
    cached.first = row.key;
  }
}

std::vector<SupersededMessage> Outbox::takeSuperseded() {
  return std::exchange(superseded_, {});
}

void Outbox::forgetAfter(std::size_t storedCount, std::size_t supersededCount) {
  stored_.resize(storedCount);
  superseded_.resize(supersededCount);
}

void Outbox::flush() {
  for (CachedTail* cached : dirty_) {
    rows_.updateSession(cached->tail, cached->first, context_.counters.takeSession(cached->tail.key));
    if (SessionRow* const session = context_.claimCache.session(cached->tail.key)) {
      session->lastSequence = cached->tail.lastSequence;
      session->priority = cached->tail.priority;
    }
    cached->dirty = false;
  }
  dirty_.clear();
  if (cached_ > kCachedSessionsMax) {
    forgetSessions();
  }
}

void Outbox::forgetSessions() noexcept {
  dirty_.clear();
  lanes_.clear();
  cached_ = 0;
}

Outbox::CachedTail& Outbox::tailOf(const SessionName& session, std::uint8_t priority) {
  // No session's name has control characters, so a lane's number is no session's.
  const char laneName = static_cast<char>(session.lane);
  const std::string_view name = session.lane == 0 ? session.name : std::string_view(&laneName, 1);
  Lane& lane = lanes_[session.peer];
  if (const auto found = lane.find(name); found != lane.end()) {
    return found->second;
  }
  const auto known = rows_.findSession(session);
  const SessionTail tail = known ? *known : rows_.insertSession(session, priority);
  ++cached_;
  return lane.emplace(std::string(name), CachedTail{tail, false}).first->second;
}

}  // namespace ackbox::store
