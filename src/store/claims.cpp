#include "store/claims.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ackbox::store {
namespace {

// No delay is longer, not even one that a peer asks for, unless it was chosen so and is marked as firm. What is due
// later than that was written by a clock that has been set back since: it is due.
constexpr std::chrono::milliseconds kDelayMax = std::chrono::hours(1);

bool isDue(WallTime dueAt, bool isFirm, WallTime now) {
  return dueAt <= now || (!isFirm && dueAt > now + kDelayMax);
}

// Until when a pending row waits; nothing: it may go. A session's backoff is its session's, so of an ordered row only
// the delay counts that it was enqueued with; an unordered one keeps its backoff itself.
std::optional<WallTime> waitsUntil(WallTime dueAt, WallTime enqueuedAt, bool wasTried, bool unordered, bool waited,
                                   WallTime now) {
  if (dueAt <= now || (wasTried && (!unordered || isDue(dueAt, false, now)))) {
    return std::nullopt;
  }
  if (wasTried || enqueuedAt <= now) {
    return dueAt;
  }
  // The calendar stands before the enqueue: it has been set back, and says nothing of how much of the delay is over.
  return waited ? std::nullopt : std::optional(now + (dueAt - enqueuedAt));
}

}  // namespace

Claims::Claims(Context& context)
    : context_(context),
      selectSession_(
          context.prepare("SELECT due_at_ms,previous_sequence,name,priority,due_is_firm,"
                          "paused_at_ms<>0 OR blocked_by<>0,recall,offered_sequence,last_sequence FROM #sessions "
                          "WHERE id=?1")),
      offer_(context.prepare("UPDATE #sessions SET offered_sequence=?2 WHERE id=?1")),
      isOurs_(context.prepare("SELECT 1 FROM #outbox WHERE message_id=?1 AND session_id=?2 AND sequence=?3")),
      selectRow_(context.prepare(
          "SELECT state,sequence,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,message_id,type,"
          "traceparent,correlation_id,data,not_before_ms,session_id FROM #outbox WHERE id=?1")),
      claimAgain_(context.prepare("UPDATE #outbox SET attempt=attempt+1 WHERE id=?1")),
      release_(context.prepare(
          "UPDATE #sessions SET due_at_ms=?2, due_is_firm=?3, "
          "previous_sequence=coalesce(?4,previous_sequence), "
          "offered_sequence=max(offered_sequence,?5,coalesce(?4,0)), head_id=iif(?6=0,head_id,?6), live=live+?7, "
          "failed=failed+?8 WHERE id=?1")) {}

ClaimReply Claims::claim(std::span<const delivery::SessionClaim> sessions) {
  ClaimReply reply;
  reply.sessions.reserve(sessions.size());
  const WallTime now = context_.clock.wallNow();
  for (const delivery::SessionClaim& wanted : sessions) {
    if (delivery::isUnit(wanted.session)) {
      claimUnit(wanted, now, reply);
    } else {
      claimSession(wanted, now, reply);
    }
  }
  context_.inFlight.flush();
  return reply;
}

void Claims::claimSession(const delivery::SessionClaim& wanted, WallTime now, ClaimReply& reply) {
  delivery::SessionClaimed claimed;
  claimed.session = wanted.session;
  std::string name;
  bool isFirm = false;
  bool isHalted = false;
  bool isUntold = false;
  std::uint64_t offered = 0;
  std::uint64_t last = 0;
  {
    Query query(selectSession_, wanted.session);
    if (!query.next()) {
      // Nobody can hold what is not there; its rows are gone as well.
      reply.sessions.push_back(std::move(claimed));
      return;
    }
    claimed.dueAt = query.instant(0);
    claimed.previousSequence = query.as<std::uint64_t>(1);
    name = query.text(2);
    claimed.priority = query.as<std::uint8_t>(3);
    isFirm = query.integer(4) != 0;
    isHalted = query.integer(5) != 0;
    isUntold = query.integer(6) > context_.recallsTold;
    offered = query.as<std::uint64_t>(7);
    last = query.as<std::uint64_t>(8);
  }
  claimed.offeredSequence = offered;
  if (context_.inFlight.sessions.isForeign(wanted.session) || isUntold) {
    claimed.status = delivery::ClaimStatus::busy;
  } else if (isHalted) {
    claimed.status = delivery::ClaimStatus::halted;
  } else if (!isDue(claimed.dueAt, isFirm, now)) {
    claimed.status = delivery::ClaimStatus::notDue;
  } else if (wanted.doubt && !isOurs(wanted.session, *wanted.doubt, last)) {
    claimed.status = delivery::ClaimStatus::outdated;
  } else {
    const std::size_t firstMessage = reply.messages.size();
    for (const delivery::MessageKey key : wanted.keys) {
      claimRow(key, wanted.waited, now, claimed, reply);
      if (claimed.status != delivery::ClaimStatus::claimed) {
        break;
      }
    }
    if (!claimed.rows.empty() || !claimed.deferred.empty()) {
      // The rows before the one that is taken, or waits, are a prefix all the same.
      claimed.status = delivery::ClaimStatus::claimed;
    }
    for (std::size_t index = firstMessage; index < reply.messages.size(); ++index) {
      reply.messages[index].frame.session = name;
    }
    if (wanted.doubt && wanted.doubt->sequence > offered) {
      claimed.offeredSequence = wanted.doubt->sequence;
      Query(offer_, wanted.session, claimed.offeredSequence).run();
    }
    if (claimed.rows.empty()) {
      context_.inFlight.sessions.remove(wanted.session);
    } else {
      context_.inFlight.sessions.add(wanted.session);
    }
  }
  reply.sessions.push_back(std::move(claimed));
}

// What the file does not remember to have sent, but has, was sent before a power cut. A peer that names no id is
// doubted only where the number was never given away.
bool Claims::isOurs(delivery::SessionKey session, const delivery::AcceptedFrame& frame, std::uint64_t last) {
  if (frame.id.empty()) {
    return frame.sequence <= last;
  }
  return Query(isOurs_, frame.id, session, frame.sequence).next();
}

// The row's own state and owner are the whole claim: nothing else is shared with other unordered messages.
void Claims::claimUnit(const delivery::SessionClaim& wanted, WallTime now, ClaimReply& reply) {
  delivery::SessionClaimed claimed;
  claimed.session = wanted.session;
  for (const delivery::MessageKey key : wanted.keys) {
    claimRow(key, wanted.waited, now, claimed, reply);
  }
  reply.sessions.push_back(std::move(claimed));
}

void Claims::claimRow(delivery::MessageKey key, delivery::MessageKey waited, WallTime now,
                      delivery::SessionClaimed& session, ClaimReply& reply) {
  delivery::ClaimedRow row;
  ClaimedMessage message;
  bool isHeld = false;
  delivery::SessionKey home = 0;
  {
    Query query(selectRow_, key);
    if (!query.next()) {
      return;
    }
    const auto state = query.as<MessageState>(0);
    if (state == MessageState::sent) {
      session.deferred.push_back({key, query.instant(5)});
      return;
    }
    if (state != MessageState::pending) {
      return;
    }
    if (context_.inFlight.rows.isForeign(key)) {
      // Its owner lives, or it would have been buried: never robbed, whatever is known of the session.
      session.status = delivery::ClaimStatus::busy;
      return;
    }
    isHeld = context_.inFlight.rows.holds(key);
    const std::optional<WallTime> until = isHeld ? std::nullopt
                                                 : waitsUntil(query.instant(5), query.instant(4), query.integer(2) != 0,
                                                              delivery::isUnit(session.session), key == waited, now);
    if (until) {
      session.status = delivery::ClaimStatus::notDue;
      session.dueAt = *until;
      session.delayed = key;
      return;
    }
    row.key = key;
    row.sequence = query.as<std::uint64_t>(1);
    row.attempt = query.as<std::uint32_t>(2) + 1;
    row.retryCount = query.as<std::uint32_t>(3);
    row.enqueuedAt = query.instant(4);
    row.expiresAt = query.optionalInstant(6);
    row.notBefore = query.optionalInstant(12);
    home = query.integer(13);
    OutboundFrame& frame = message.frame;
    frame.messageId = query.text(7);
    frame.type = query.text(8);
    frame.traceparent = query.text(9);
    frame.correlationId = query.text(10);
    frame.data = query.text(11);
    row.dataBytes = static_cast<std::uint32_t>(frame.data.size());
  }
  if (isHeld) {
    // The number that the earlier claim has becomes stale.
    Query(claimAgain_, key).run();
    ++row.attempt;
  }
  context_.inFlight.rows.add(key);
  context_.inFlight.facts.insert_or_assign(key, RowFacts{home, row.sequence, static_cast<std::int64_t>(row.dataBytes),
                                                         row.enqueuedAt, message.frame.messageId});
  message.session = session.session;
  message.key = key;
  message.frame.sequence = row.sequence;
  message.frame.retryCount = row.retryCount;
  message.frame.enqueuedAt = row.enqueuedAt;
  message.frame.expiresAt = row.expiresAt;
  if (!isHeld) {
    context_.counters.leave(home, MessageState::pending, 1, row.dataBytes);
    context_.counters.enter(home, MessageState::sending, 1, row.dataBytes);
  }
  session.rows.push_back(row);
  reply.messages.push_back(std::move(message));
}

void Claims::release(std::span<const delivery::SessionRelease> releases) {
  for (const delivery::SessionRelease& released : releases) {
    if (context_.inFlight.sessions.holds(released.session)) {
      // What was settled rides in the one write of the session's row.
      const Counters::SessionChange change = context_.counters.takeSession(released.session);
      const auto offered = context_.inFlight.offered.extract(released.session);
      Query(release_, released.session, released.dueAt, released.isFirm, released.previousSequence,
            offered ? offered.mapped() : 0, released.head, change.live, change.failed)
          .run();
      context_.inFlight.sessions.remove(released.session);
    }
  }
  context_.inFlight.flush();
}

}  // namespace ackbox::store
