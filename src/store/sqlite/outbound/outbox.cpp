#include "store/sqlite/outbound/outbox.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "store/sqlite/outbound/row_checksum.hpp"

namespace ackbox::store::sqlite {
namespace {

// About 10 MB of names and tails; the next enqueue of a forgotten session reads its row again.
constexpr std::size_t kCachedSessionsMax = 100'000;

}  // namespace

Outbox::Outbox(Context& context, const Peers& peers, Subscriptions& subscriptions, OutboxRows& rows,
               Discovery& discovery)
    : EnqueueSteps(context.connection.handle(), context.options, context.clock, context.random, rows, context.counters,
                   context.lazyRows),
      context_(context),
      peers_(peers),
      subscriptions_(subscriptions),
      rows_(rows),
      discovery_(discovery),
      // REPLACE deletes the old row first if its message id is in the index. Its age restarts, or the horizon that
      // failed it would fail it again at once. Outside sessions the peer also distinguishes it from a repetition by the
      // instant, which is therefore later than before, regardless of the clock.
      redrive_(context.prepare(
          std::string("REPLACE INTO #outbox(id,session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,"
                      "message_id,checksum,expires_at_ms,type,traceparent,correlation_id,resent_of,last_error,attempt_"
                      "log,data) "
                      "SELECT ?4,session_id,?2,0,0,0,")
              .append(kMovedInstant)
              .append(",0,")
              .append(kMessageId)
              .append(",")
              .append(movedChecksum())
              .append(",expires_at_ms,type,traceparent,correlation_id,coalesce(resent_of,?6),last_error,attempt_log,"
                      "data FROM #outbox AS o "
                      "WHERE id=?1 AND state=?5"))),
      bytesOf_(context.prepare("SELECT length(data) FROM #outbox WHERE id=?1")) {}

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* const peer = peers_.find(frame.peer);
  return run(frame, peer == nullptr ? std::nullopt : std::optional(peer->key));
}

PublishReceipt Outbox::publish(const Frame& frame) {
  return EnqueueSteps::publish(frame, subscriptions_.subscribersOf(frame));
}

void Outbox::beforeChange(const Frame& frame) {
  if (!frame.supersedeKey.empty()) {
    context_.inFlight.claims.flush();
  }
}

bool Outbox::isNoneLive() {
  // Limits the look at dead letters before the oldest live row; the next refusal continues behind them.
  constexpr std::size_t kRowsLookedAt = 256;
  return context_.oldest.isNoneLive(kRowsLookedAt);
}

void Outbox::insert(NewRow&& row, const Frame& frame) {
  stored_.push_back(
      {row.key, row.row.session, MessageState::pending, frame.notBefore.value_or(WallTime{}), frame.priority});
  context_.gathered.add(std::move(row));
}

void Outbox::priorityChanged(const SessionTail& place) {
  if (SessionRow* const session = context_.claimCache.session(place.key)) {
    session->priority = place.priority;
  }
}

void Outbox::superseded(const Supersedable& message, const Frame& frame, const EnqueueReceipt& receipt) {
  static_cast<void>(context_.claimCache.take(message.key));
  context_.oldest.settled(message.key);
  superseded_.push_back({.message = {message.key, message.session, message.messageId, message.sequence},
                         .peer = frame.peer,
                         .session = frame.session,
                         .byMessageId = receipt.messageId,
                         .bySequence = receipt.sequence});
}

std::uint64_t Outbox::redrive(const Redrive& message) {
  context_.gathered.flush();
  SessionTail unordered{message.session, 0, kPriorityDefault, true};
  SessionTail& tail = message.sequence == 0 ? unordered : tailOf({message.peer, message.sessionName}, kPriorityDefault);
  const SessionTail place = tail.next(tail.priority);
  const delivery::MessageKey newKey = context_.counters.value(Counter::lastKey) + 1;
  rows_.vacate(message.key);
  if (Query(redrive_, message.key, place.lastSequence, context_.clock.wallNow(), newKey, message.from,
            NullIfEmpty{message.repeatedId}, checksumOfResent(message.repeatedId))
          .run() == 0) {
    throw Error(Errc::invalidTransition, "only a dead letter is redriven, and only an acknowledged message repeated");
  }
  rows_.remove(message.key);
  context_.counters.subtractRows(place.key, message.from, 1, 0);
  Query size(bytesOf_, newKey);
  size.next();
  stored_.push_back({newKey, place.key, MessageState::pending, {}, {}});
  append(message.peer, tail, place, newKey, size.integer(0));
  // It was counted at its first enqueue.
  context_.counters.add(place.key, Counter::enqueued, -1);
  return place.lastSequence;
}

std::vector<SupersededMessage> Outbox::takeSuperseded() {
  supersededBefore_ = 0;
  return std::exchange(superseded_, {});
}

void Outbox::flush() {
  if (cached_ > kCachedSessionsMax) {
    forget();
  }
}

void Outbox::committed() noexcept {
  discovery_.publish(stored_);
  stored_.clear();
  supersededBefore_ = superseded_.size();
  scopes_.clear();
  forgetExcess();
}

void Outbox::rolledBack() noexcept {
  shrinkTo({0, supersededBefore_});
  scopes_.clear();
  forget();
}

void Outbox::scopeUndone() noexcept {
  shrinkTo(scopes_.back());
  scopes_.pop_back();
  sessions_.clear();
  cached_ = 0;
}

void Outbox::forget() noexcept {
  sessions_.clear();
  cached_ = 0;
  forgetExcess();
}

void Outbox::shrinkTo(const Mark& mark) noexcept {
  stored_.erase(stored_.begin() + static_cast<std::ptrdiff_t>(mark.stored), stored_.end());
  superseded_.erase(superseded_.begin() + static_cast<std::ptrdiff_t>(mark.superseded), superseded_.end());
}

SessionTail& Outbox::tailOf(const SessionName& session, std::uint8_t priority) {
  // A session's name has no control characters, so it cannot equal the number of an unordered queue.
  const char queueName = static_cast<char>(session.unorderedQueue);
  const std::string_view name = session.unorderedQueue == 0 ? session.name : std::string_view(&queueName, 1);
  Sessions& sessions = sessions_[session.peer];
  if (const auto found = sessions.find(name); found != sessions.end()) {
    return found->second;
  }
  const auto known = rows_.findSession(session);
  SessionTail tail = known ? *known : beginSession(session, priority);
  if (const SessionState* const state = context_.states.known(tail.key)) {
    tail.lastSequence = state->lastSequence;
  }
  tail.lastSequence = context_.lazyRows.lastSequence(tail.key, tail.lastSequence);
  ++cached_;
  return sessions.emplace(std::string(name), tail).first->second;
}

// Caches the new session, because the discovery and the claim of its first message follow.
SessionTail Outbox::beginSession(const SessionName& session, std::uint8_t priority) {
  const SessionTail tail = rows_.insertSession(session, priority);
  context_.counters.created(tail.key, session.peer);
  context_.states.created(tail.key);
  context_.claimCache.keep(tail.key, {.name = std::string(session.name),
                                      .peer = session.peer,
                                      .isUnordered = session.unorderedQueue != 0,
                                      .priority = priority});
  return tail;
}

}  // namespace ackbox::store::sqlite
