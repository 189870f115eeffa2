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
      // REPLACE takes the old row away, as both have the one message id; AUTOINCREMENT gives the new one a new key.
      // Its age begins anew, or the horizon that failed it would fail it again at once.
      redrive_(context.prepare(
          "REPLACE INTO #outbox(session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,"
          "message_id,type,traceparent,correlation_id,last_error,data) SELECT session_id,?2,0,0,0,?3,0,expires_at_ms,"
          "message_id,type,traceparent,correlation_id,last_error,data FROM #outbox WHERE id=?1 AND state=4")),
      bytesOf_(context.prepare("SELECT length(data) FROM #outbox WHERE id=?1")) {}

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* peer = peers_.find(frame.peer);
  if (auto refusal = refuseFrame(frame, peer != nullptr, context_.options)) {
    return *refusal;
  }
  Counters& counters = context_.counters;
  if (auto refusal = refuseFull(frame, counters.live(),
                                static_cast<std::uint64_t>(counters.value(Counter::pendingBytes)), context_.options)) {
    // A repetition is told the truth even while the queue is full.
    const auto sequence = frame.id.empty() ? std::nullopt : rows_.sequenceOf(frame.id);
    return sequence ? EnqueueReceipt{EnqueueStatus::duplicate, frame.id, *sequence, {}} : *refusal;
  }
  const WallTime now = context_.clock.wallNow();
  CachedTail& cached = tailOf(peer->key, frame.session);
  const SessionTail place{cached.tail.key, cached.tail.lastSequence + 1};
  EnqueueReceipt receipt{EnqueueStatus::stored, frame.id, place.lastSequence, {}};
  if (receipt.messageId.empty()) {
    receipt.messageId = uuids_.next(now, context_.random);
  }
  const auto key = rows_.insert(frame, receipt.messageId, place, now);
  if (!key) {
    receipt.status = EnqueueStatus::duplicate;
    receipt.sequence = rows_.sequenceOf(receipt.messageId).value_or(0);
    return receipt;
  }
  append(cached, place, *key);
  counters.enter(place.key, MessageState::pending, 1, static_cast<std::int64_t>(frame.data.size()));
  counters.add(place.key, Counter::enqueued, 1);
  return receipt;
}

std::uint64_t Outbox::redrive(delivery::MessageKey key, delivery::PeerKey peer, std::string_view session) {
  CachedTail& cached = tailOf(peer, session);
  const SessionTail place{cached.tail.key, cached.tail.lastSequence + 1};
  if (Query(redrive_, key, place.lastSequence, context_.clock.wallNow()).run() == 0) {
    throw Error(Errc::invalidTransition, "only a dead letter is redriven");
  }
  const delivery::MessageKey newKey = sqlite3_last_insert_rowid(context_.connection.handle());
  append(cached, place, newKey);
  Query size(bytesOf_, newKey);
  size.next();
  context_.counters.leave(place.key, MessageState::failed, 1, 0);
  context_.counters.enter(place.key, MessageState::pending, 1, size.integer(0));
  return place.lastSequence;
}

void Outbox::append(CachedTail& cached, const SessionTail& place, delivery::MessageKey key) {
  stored_.push_back({key, place.key, MessageState::pending, {}});
  cached.tail = place;
  if (!std::exchange(cached.dirty, true)) {
    dirty_.push_back(&cached);
  }
}

std::vector<delivery::RowSeen> Outbox::takeStored() {
  return std::exchange(stored_, {});
}

void Outbox::forgetStoredAfter(std::size_t count) {
  stored_.resize(count);
}

void Outbox::flush() {
  for (CachedTail* cached : dirty_) {
    rows_.updateSession(cached->tail, context_.counters.takeSession(cached->tail.key));
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

Outbox::CachedTail& Outbox::tailOf(delivery::PeerKey peer, std::string_view session) {
  Lane& lane = lanes_[peer];
  if (const auto found = lane.find(session); found != lane.end()) {
    return found->second;
  }
  const auto known = rows_.findSession(peer, session);
  const SessionTail tail = known ? *known : rows_.insertSession(peer, session);
  ++cached_;
  return lane.emplace(std::string(session), CachedTail{tail, false}).first->second;
}

}  // namespace ackbox::store
