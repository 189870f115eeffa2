#include "store/sqlite/outbound/claims.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "store/decisions/due.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"
#include "store/sqlite/outbound/vacated_numbers.hpp"

namespace ackbox::store::sqlite {
Claims::Claims(Context& context)
    : context_(context),
      selectSession_(
          context.prepare(std::string("SELECT name,priority,paused_at_ms<>0 OR blocked_by<>0,recall,peer_id,lane<>0,")
                              .append(kSessionDiffers)
                              .append(" FROM #sessions AS s WHERE id=?1"))),
      isOurs_(context.prepare(numberHolder())),
      selectRow_(context.prepare(std::string("SELECT ").append(kRowColumns).append(" FROM #outbox WHERE id=?1"))),
      claimAgain_(context.prepare("UPDATE #outbox SET attempt=attempt+1 WHERE id=?1")) {}

ClaimReply Claims::claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls, std::uint64_t bytesMax,
                         std::size_t framesMax) {
  context_.gathered.flush();
  ClaimReply reply;
  reply.sessions.reserve(sessions.size());
  const Look look{.now = context_.clock.wallNow(), .recalls = recalls, .bytesMax = bytesMax, .framesMax = framesMax};
  for (const delivery::SessionClaim& wanted : sessions) {
    if (reply.isFull || reply.messages.size() >= framesMax) {
      reply.sessions.emplace_back();
      reply.sessions.back().session = wanted.session;
      reply.sessions.back().status = delivery::ClaimStatus::full;
    } else if (delivery::isUnit(wanted.session)) {
      claimUnit(wanted, look, reply);
    } else {
      claimSession(wanted, look, reply);
    }
  }
  return reply;
}

void Claims::claimSession(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply) {
  delivery::SessionClaimed claimed;
  claimed.session = wanted.session;
  SessionRow* const session = sessionOf(wanted.session);
  if (session == nullptr) {
    // A session that does not exist cannot be held; its rows do not exist either.
    reply.sessions.push_back(std::move(claimed));
    return;
  }
  const SessionState& state = context_.states.of(wanted.session);
  claimed.dueAt = state.dueAt;
  claimed.previousSequence = state.previousSequence;
  claimed.confirmedSequence = state.confirmedSequence;
  claimed.priority = session->priority;
  // The rows that were put back may have been discovered after the decision: only recalls that it knew of count.
  const bool isUndiscovered = session->recall > std::min(look.recalls, context_.recallsDiscovered);
  if (context_.inFlight.sessions.isForeign(wanted.session) || isUndiscovered) {
    claimed.status = delivery::ClaimStatus::busy;
  } else if (session->isHalted || session->isDamaged) {
    claimed.status = delivery::ClaimStatus::halted;
  } else if (!isDue(claimed.dueAt, state.isFirm, look.now)) {
    claimed.status = delivery::ClaimStatus::notDue;
  } else if (wanted.doubt && wanted.doubt->sequence > claimed.confirmedSequence &&
             !isOurs(wanted.session, *wanted.doubt)) {
    claimed.status = delivery::ClaimStatus::outdated;
  } else {
    const std::size_t firstMessage = reply.messages.size();
    for (const delivery::MessageKey key : wanted.keys) {
      claimRow(key, wanted.waited, look, claimed, reply);
      if (claimed.status != delivery::ClaimStatus::claimed || reply.messages.size() >= look.framesMax) {
        break;
      }
    }
    if (!claimed.rows.empty() || !claimed.deferred.empty()) {
      // The rows before the one that is busy or waits are still a prefix.
      claimed.status = delivery::ClaimStatus::claimed;
    }
    for (std::size_t index = firstMessage; index < reply.messages.size(); ++index) {
      reply.messages[index].frame.session = session->name;
    }
    if (wanted.doubt && wanted.doubt->sequence > claimed.confirmedSequence) {
      claimed.confirmedSequence = wanted.doubt->sequence;
      context_.states.change(wanted.session).confirmedSequence = claimed.confirmedSequence;
    }
    if (claimed.rows.empty()) {
      context_.inFlight.sessions.remove(wanted.session);
    } else {
      context_.inFlight.sessions.add(wanted.session);
    }
  }
  reply.sessions.push_back(std::move(claimed));
}

SessionRow* Claims::sessionOf(delivery::SessionKey key) {
  if (SessionRow* known = context_.claimCache.session(key)) {
    return known;
  }
  Query query(selectSession_, key);
  if (!query.next()) {
    return nullptr;
  }
  SessionRow row;
  Columns columns(query);
  columns >> row.name >> row.priority >> row.isHalted >> row.recall >> row.peer >> row.isUnordered >> row.isDamaged;
  if (row.isDamaged) {
    context_.damagedSessions.push_back(key);
  }
  return &context_.claimCache.keep(key, std::move(row));
}

// Whether this file sent a message with that id and number, regardless of the answer. If the peer names no id, only a
// number that was never assigned is doubted.
bool Claims::isOurs(delivery::SessionKey session, const delivery::AcceptedFrame& frame) {
  if (frame.id.empty()) {
    return frame.sequence <= context_.lazyRows.lastSequence(session, context_.states.of(session).lastSequence);
  }
  return Query(isOurs_, frame.id, session, frame.sequence).next();
}

// The claim consists of the row's own state and owner: unordered messages share nothing else.
void Claims::claimUnit(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply) {
  delivery::SessionClaimed claimed;
  claimed.session = wanted.session;
  for (const delivery::MessageKey key : wanted.keys) {
    claimRow(key, wanted.waited, look, claimed, reply);
  }
  reply.sessions.push_back(std::move(claimed));
}

void Claims::claimRow(delivery::MessageKey key, delivery::MessageKey waited, const Look& look,
                      delivery::SessionClaimed& session, ClaimReply& reply) {
  std::optional<OutboxRow> row = context_.claimCache.take(key);
  if (!row) {
    row = read(key);
  }
  if (!row) {
    return;
  }
  if (row->state == MessageState::sent) {
    session.deferred.push_back({key, row->dueAt});
    return;
  }
  if (row->state != MessageState::pending) {
    return;
  }
  if (context_.inFlight.rows.isForeign(key)) {
    // The row's owner is alive, or its claims would have been released: its rows are never taken from it.
    session.status = delivery::ClaimStatus::busy;
    return;
  }
  if (delivery::isUnit(session.session) && !row->isDamaged) {
    if (const SessionRow* const queue = sessionOf(row->session);
        queue == nullptr || queue->isDamaged || !queue->isUnordered) {
      session.status = delivery::ClaimStatus::halted;
      return;
    }
  }
  const bool isHeld = context_.inFlight.rows.holds(key);
  const std::optional<WallTime> until = isHeld ? std::nullopt
                                               : waitsUntil(row->dueAt, row->frame.enqueuedAt, row->attempt != 0,
                                                            delivery::isUnit(session.session), key == waited, look.now);
  if (until) {
    session.status = delivery::ClaimStatus::notDue;
    session.dueAt = *until;
    session.delayed = key;
    return;
  }
  const std::uint64_t wireBytes = delivery::wireBytes(row->frame.data.size());
  if (!reply.messages.empty() && reply.bytes + wireBytes > look.bytesMax) {
    // The next claim probably includes this row.
    reply.isFull = true;
    session.status = delivery::ClaimStatus::full;
    context_.claimCache.add(key, std::move(*row));
    return;
  }
  take(key, *row, isHeld, session, reply);
  reply.bytes += wireBytes;
}

void Claims::take(delivery::MessageKey key, OutboxRow& row, bool isHeld, delivery::SessionClaimed& session,
                  ClaimReply& reply) {
  OutboundFrame& frame = row.frame;
  // A row that was found in one session but names another is sent for neither.
  const bool isElsewhere = !delivery::isUnit(session.session) && row.session != session.session;
  if (isHeld) {
    // The number of the earlier claim becomes stale.
    Query(claimAgain_, key).run();
    ++row.attempt;
  }
  const auto bytes = static_cast<std::int64_t>(frame.data.size());
  // For a damaged row, the session in which it was found is more likely to be right.
  const delivery::SessionKey of = delivery::isUnit(session.session) ? row.session : session.session;
  context_.inFlight.rows.add(key);
  context_.inFlight.facts.insert_or_assign(
      key, RowFacts{of, frame.sequence, bytes, row.attempt, frame.enqueuedAt, frame.messageId});
  session.rows.push_back({.key = key,
                          .sequence = frame.sequence,
                          .attempt = row.attempt + 1,
                          .retryCount = frame.retryCount,
                          .dataBytes = static_cast<std::uint32_t>(bytes),
                          .enqueuedAt = frame.enqueuedAt,
                          .expiresAt = frame.expiresAt,
                          .notBefore = row.notBefore,
                          .isDamaged = row.isDamaged || isElsewhere});
  reply.messages.push_back({session.session, key, std::move(frame)});
}

std::optional<OutboxRow> Claims::read(delivery::MessageKey key) {
  Query query(selectRow_, key);
  if (!query.next()) {
    return std::nullopt;
  }
  Columns columns(query);
  return readRow(key, columns);
}

void Claims::endClaims(std::span<const delivery::SessionRelease> releases) {
  for (const delivery::SessionRelease& released : releases) {
    if (context_.inFlight.sessions.holds(released.session)) {
      SessionState& state = context_.states.change(released.session);
      const bool isRecalled =
          released.recalls < context_.recallsMade && sessionOf(released.session)->recall > released.recalls;
      // Changes by enqueues and settles are included in the same write of the state.
      context_.lazyRows.moveInto(released.session, state);
      state.dueAt = released.dueAt;
      state.isFirm = released.isFirm;
      if (!isRecalled) {
        state.previousSequence = released.previousSequence.value_or(state.previousSequence);
      } else if (released.isAfterReset) {
        // The sequence that the peer has accepted since its restore: with a lower one, the next message would overtake
        // this one at a peer that is restored once more.
        state.previousSequence = std::max(state.previousSequence, released.previousSequence.value_or(0));
      }
      const auto confirmed = context_.inFlight.confirmed.extract(released.session);
      state.confirmedSequence = std::max(
          {state.confirmedSequence, confirmed ? confirmed.mapped() : 0, released.previousSequence.value_or(0)});
      if (released.head != 0 && !isRecalled) {
        state.head = released.head;
      }
      context_.inFlight.sessions.remove(released.session);
    }
  }
}

}  // namespace ackbox::store::sqlite
