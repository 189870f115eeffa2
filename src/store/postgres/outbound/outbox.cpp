#include "store/postgres/outbound/outbox.hpp"

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "store/decisions/enqueue_limits.hpp"

namespace ackbox::store::postgres {

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* const peer = peers_.find(frame.peer);
  return steps_.enqueue(frame, peer == nullptr ? std::nullopt : std::optional(peer->key));
}

PublishReceipt Outbox::publish(const Frame& frame) {
  return steps_.publish(frame, subscribersOf(context_.connection, frame));
}

void Outbox::expect(std::span<const Frame* const> frames) {
  std::map<SessionName, int> sessions;
  std::size_t bytes = 0;
  for (const Frame* const frame : frames) {
    const PeerRow* const peer = frame->session.empty() ? nullptr : peers_.find(frame->peer);
    if (peer != nullptr && !refuseFrame(*frame, true, context_.options)) {
      sessions.insert_or_assign({peer->key, frame->session, 0}, frame->priority);
    }
    bytes += frame->data.size();
  }
  // A refused frame leaves no session behind.
  rows_.passGates(sessions, !steps_.isNearFull(frames.size(), bytes));
}

// Its age restarts, or the horizon that failed it would fail it again at once. Outside sessions the peer also
// distinguishes it from a repetition by the instant, which is therefore later than before, regardless of the clock. An
// acknowledged message says that it repeats itself, or the message that it has repeated so far.
std::uint64_t Outbox::redrive(const Redrive& message) {
  context_.flushRows();
  SessionTail& tail = rows_.tailOf({message.peer, std::string(message.sessionName), message.lane}, kPriorityDefault);
  const delivery::MessageKey key = rows_.newKey(tail);
  vacated_.keep(message.key, VacatedNumbers::Unless::untried);
  if (message.sequence != 0) {
    ++tail.lastSequence;
    rows_.outdate(tail.session);
  }
  const Result result = context_.connection.run(
      "UPDATE #outbox SET id=$2,sequence=$3,state=0,attempt=0,retry_count=0,created_at_ms=greatest($4,created_at_ms+1),"
      "due_at_ms=0,not_before_ms=NULL,supersede_key=NULL,reason=NULL,xid=pg_current_xact_id(),resent_of=CASE WHEN "
      "$5::integer=3 THEN coalesce(resent_of,message_id) ELSE resent_of END WHERE id=$1 AND state=$5::integer "
      "RETURNING "
      "octet_length(data)",
      message.key, key, tail.lastSequence, context_.now(), message.from);
  if (result.empty()) {
    throw Error(Errc::invalidTransition, "only a dead letter is redriven, and only an acknowledged message repeated");
  }
  const std::int64_t bytes = result.front().integer(0);
  context_.counts.addRows(message.peer, message.from, -1, bytes);
  context_.counts.addRows(message.peer, MessageState::pending, 1, bytes);
  ++steps_.stored;
  return tail.lastSequence;
}

std::vector<SupersededMessage> Outbox::takeSuperseded() {
  return std::exchange(superseded_, {});
}

void Outbox::committed() noexcept {
  std::ranges::move(steps_.superseded, std::back_inserter(superseded_));
  rolledBack();
}

void Outbox::rolledBack() noexcept {
  steps_.begun();
  scopes_.clear();
}

void Outbox::scopeUndone() noexcept {
  steps_.stored = scopes_.back().stored;
  steps_.superseded.resize(scopes_.back().superseded);
  scopes_.pop_back();
}

}  // namespace ackbox::store::postgres
