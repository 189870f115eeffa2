#include "store/sqlite/outbound/outbox.hpp"

#include <string>
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
      // REPLACE takes the old row away first where its message id is in the index.
      // Its age begins anew, or the horizon that failed it would fail it again at once.
      redrive_(context.prepare(
          std::string("REPLACE INTO #outbox(id,session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,"
                      "message_id,expires_at_ms,type,traceparent,correlation_id,last_error,data) "
                      "SELECT ?4,session_id,?2,0,0,0,?3,0,")
              .append(kMessageId)
              .append(",expires_at_ms,type,traceparent,correlation_id,last_error,data FROM #outbox AS o WHERE id=?1 "
                      "AND state=4"))),
      bytesOf_(context.prepare("SELECT length(data) FROM #outbox WHERE id=?1")) {}

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* peer = peers_.find(frame.peer);
  if (auto refusal = refuseFrame(frame, peer != nullptr, context_.options)) {
    return *refusal;
  }
  if (!frame.id.empty() || !frame.idempotencyKey.empty() || !frame.supersedeKey.empty()) {
    // They are about other messages.
    flush();
  }
  const WallTime now = context_.clock.wallNow();
  // Before the queue is found full: a repetition is told the truth all the same.
  if (auto repetition = keys_.find(frame.idempotencyKey, now)) {
    return *repetition;
  }
  if (auto repetition = rows_.repetitionOf(frame)) {
    return *repetition;
  }
  Counters& counters = context_.counters;
  if (!frame.supersedeKey.empty()) {
    context_.inFlight.claims.flush();
  }
  const std::vector<Supersedable> leaving = rows_.supersedable(peer->key, frame);
  if (auto refusal = refuseFull(frame, counters.live(), counters.liveBytes(), leaving, context_.options);
      refusal && !isSaidToBeFull()) {
    return *refusal;
  }
  SessionTail& tail = tailOf({peer->key, frame}, frame.priority);
  const SessionTail place = tail.next(frame.priority);
  const delivery::MessageKey key = counters.value(Counter::lastKey) + 1;
  const MessageId id = messageIdFor(frame, uuids_, context_.random, now, key);
  EnqueueReceipt receipt{EnqueueStatus::stored, id.text, place.lastSequence, {}};
  gathered_.emplace_back(key, frame, id, place, now);
  if (gathered_.size() == OutboxRows::kTogether) {
    flush();
  }
  append(peer->key, tail, place,
         {key, place.key, MessageState::pending, frame.notBefore.value_or(WallTime{}), frame.priority},
         static_cast<std::int64_t>(frame.data.size()));
  supersede(leaving, frame, receipt);
  keys_.remember(frame.idempotencyKey, receipt, now);
  return receipt;
}

// A queue without a message is not full, whatever the gauges say. They are counted anew before the commit.
bool Outbox::isSaidToBeFull() {
  // Of dead letters that lie before the oldest live row; the next refusal goes on behind them.
  constexpr std::size_t kRowsLookedAt = 256;
  Counters& counters = context_.counters;
  if (!counters.isDoubtful()) {
    flush();
    if (context_.oldest.isNoneLive(kRowsLookedAt)) {
      counters.doubt();
    }
  }
  return counters.isDoubtful();
}

void Outbox::flush() {
  if (gathered_.empty()) {
    return;
  }
  rows_.insert(gathered_);
  for (NewRow& fresh : gathered_) {
    context_.claimCache.add(fresh.key, std::move(fresh.row));
  }
  gathered_.clear();
}

void Outbox::supersede(const std::vector<Supersedable>& messages, const Frame& frame, EnqueueReceipt& receipt) {
  for (const Supersedable& message : messages) {
    rows_.supersede(message);
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
  flush();
  SessionTail unordered{letter.session, 0, kPriorityDefault, true};
  SessionTail& tail = letter.sequence == 0 ? unordered : tailOf({letter.peer, letter.sessionName}, kPriorityDefault);
  const SessionTail place = tail.next(tail.priority);
  const delivery::MessageKey newKey = context_.counters.value(Counter::lastKey) + 1;
  rows_.vacate(letter.key);
  if (Query(redrive_, letter.key, place.lastSequence, context_.clock.wallNow(), newKey).run() == 0) {
    throw Error(Errc::invalidTransition, "only a dead letter is redriven");
  }
  rows_.remove(letter.key);
  context_.counters.leave(place.key, MessageState::failed, 1, 0);
  Query size(bytesOf_, newKey);
  size.next();
  append(letter.peer, tail, place, {newKey, place.key, MessageState::pending, {}, {}}, size.integer(0));
  // It was, once.
  context_.counters.add(place.key, Counter::enqueued, -1);
  return place.lastSequence;
}

void Outbox::append(delivery::PeerKey peer, SessionTail& tail, const SessionTail& place, const delivery::RowSeen& row,
                    std::int64_t bytes) {
  stored_.push_back(row);
  context_.counters.append(peer, bytes);
  if (place.unordered) {
    context_.counters.addLive(place.key);
    return;
  }
  context_.tails.append(place.key, place.lastSequence, row.key);
  if (place.priority != tail.priority) {
    rows_.updatePriority(place);
    if (SessionRow* const session = context_.claimCache.session(place.key)) {
      session->priority = place.priority;
    }
  }
  tail = place;
}

std::vector<SupersededMessage> Outbox::takeSuperseded() {
  return std::exchange(superseded_, {});
}

void Outbox::forgetAfter(std::size_t storedCount, std::size_t supersededCount) {
  gathered_.clear();
  stored_.resize(storedCount);
  superseded_.resize(supersededCount);
}

void Outbox::forgetTooMany() noexcept {
  if (cached_ > kCachedSessionsMax) {
    forgetSessions();
  }
}

void Outbox::forgetSessions() noexcept {
  lanes_.clear();
  cached_ = 0;
}

SessionTail& Outbox::tailOf(const SessionName& session, std::uint8_t priority) {
  // No session's name has control characters, so a lane's number is no session's.
  const char laneName = static_cast<char>(session.lane);
  const std::string_view name = session.lane == 0 ? session.name : std::string_view(&laneName, 1);
  Lane& lane = lanes_[session.peer];
  if (const auto found = lane.find(name); found != lane.end()) {
    return found->second;
  }
  const auto known = rows_.findSession(session);
  SessionTail tail = known ? *known : begin(session, priority);
  if (const SessionState* const state = context_.states.known(tail.key)) {
    tail.lastSequence = state->lastSequence;
  }
  tail.lastSequence = context_.tails.lastSequence(tail.key, tail.lastSequence);
  ++cached_;
  return lane.emplace(std::string(name), tail).first->second;
}

// Its first message is told and claimed next, for which nothing need be read that is known here.
SessionTail Outbox::begin(const SessionName& session, std::uint8_t priority) {
  const SessionTail tail = rows_.insertSession(session, priority);
  context_.counters.begun(tail.key, session.peer);
  context_.states.begun(tail.key);
  context_.claimCache.keep(
      tail.key,
      {.name = std::string(session.name), .peer = session.peer, .isLane = session.lane != 0, .priority = priority});
  return tail;
}

}  // namespace ackbox::store
