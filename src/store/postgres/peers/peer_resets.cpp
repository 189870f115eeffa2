#include "store/postgres/peers/peer_resets.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/policies.hpp"

namespace ackbox::store::postgres {

void PeerResets::begun(std::int64_t recalls) noexcept {
  context_.recallsMade = recalls;
  // Another process may have put rows back.
  committed();
}

void PeerResets::committed() noexcept {
  if (std::exchange(committed_, context_.recallsMade) != context_.recallsMade) {
    discovery_.startOver(context_.recallsMade);
  }
}

std::optional<PeerResetEvent> PeerResets::recordIdentity(const delivery::PeerIdentity& identity) {
  context_.flushRows();
  Connection& connection = context_.connection;
  if (!identity.found) {
    connection.run("UPDATE #peers SET store=$2, store_epoch=greatest(store_epoch,$3) WHERE id=$1 AND store IN ('',$2)",
                   identity.peer, identity.store, identity.storeEpoch);
    return std::nullopt;
  }
  PeerResetEvent event;
  event.kind = *identity.found;
  event.store = identity.store;
  event.expected = identity.expected;
  event.accepted = identity.accepted;
  if (const PeerRow* peer = peers_.find(identity.peer)) {
    event.peer = peer->name;
  }
  if (const Result result = connection.run("SELECT name FROM #sessions WHERE id=$1", identity.session);
      !result.empty()) {
    event.session = result.front().text(0);
  }
  switch (*identity.found) {
    case PeerResetKind::peerLost:
      return noteLost(identity, event) ? std::optional(event) : std::nullopt;
    case PeerResetKind::peerRestored:
      noteRestored(identity, event);
      break;
    case PeerResetKind::selfRestored:
      break;
  }
  return event;
}

bool PeerResets::noteLost(const delivery::PeerIdentity& identity, PeerResetEvent& event) {
  Connection& connection = context_.connection;
  const Result known = connection.run("SELECT store FROM #peers WHERE id=$1 FOR UPDATE", identity.peer);
  if (known.empty() || known.front().view(0) == identity.store) {
    // Another process has already recorded it.
    return false;
  }
  event.storeBefore = known.front().text(0);
  holdInFlight(identity.peer);
  connection.run(
      "UPDATE #peers SET store=$2, store_epoch=$3, resent_store_epoch=$3, resets=resets+1, reset_at_ms=$4 WHERE id=$1",
      identity.peer, identity.store, identity.storeEpoch, context_.now());
  connection.run(
      "UPDATE #session_states AS m SET recall=$2, previous_sequence=CASE WHEN s.lane=0 THEN 0 ELSE previous_sequence "
      "END FROM #sessions AS s WHERE s.id=m.session_id AND s.peer_id=$1",
      identity.peer, countRecall());
  putBackDeferred(identity.peer, 0);
  if (peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend) {
    event.resent = resend(identity.peer, 0, 0);
  }
  return true;
}

// Resends all retained rows, because sessions that show nothing may have been forgotten too; rows that the peer still
// knows are duplicates. Once per restore of the peer; further sessions that show it resend only their own rows.
void PeerResets::noteRestored(const delivery::PeerIdentity& identity, PeerResetEvent& event) {
  Connection& connection = context_.connection;
  std::uint64_t resentAt = 0;
  if (const Result known =
          connection.run("SELECT resent_store_epoch FROM #peers WHERE id=$1 FOR UPDATE", identity.peer);
      !known.empty()) {
    resentAt = known.front().as<std::uint64_t>(0);
  }
  holdInFlight(identity.peer);
  const bool resends = peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend;
  const bool isWhole = resends && (identity.isFresh || identity.storeEpoch != resentAt);
  connection.run("UPDATE #peers SET resent_store_epoch=$2, resets=resets+1, reset_at_ms=$3 WHERE id=$1", identity.peer,
                 isWhole ? identity.storeEpoch : resentAt, context_.now());
  connection.run("UPDATE #session_states SET previous_sequence=least(previous_sequence,$2) WHERE session_id=$1",
                 identity.session, identity.accepted);
  if (isWhole) {
    // Messages in flight were claimed before: their answers may come from the time that the peer has forgotten.
    connection.run(
        "UPDATE #session_states AS m SET recall=$2 FROM #sessions AS s WHERE s.id=m.session_id AND "
        "s.peer_id=$1",
        identity.peer, countRecall());
  }
  putBackDeferred(identity.peer, isWhole ? 0 : identity.session);
  if (resends) {
    event.resent = isWhole ? resend(identity.peer, 0, 0) : resend(identity.peer, identity.session, identity.accepted);
  }
}

// What such a settle acknowledges after the reset has looked for retained messages would not be resent.
void PeerResets::holdInFlight(delivery::PeerKey peer) {
  context_.connection.run(
      "SELECT o.id FROM #outbox AS o WHERE o.id=ANY(ARRAY(SELECT unnest(keys) FROM #claims)) AND "
      "(SELECT s.peer_id FROM #sessions AS s WHERE s.id=o.session_id)=$1 ORDER BY o.id FOR NO KEY UPDATE OF o",
      peer);
}

// Rows that were acknowledged but never sent are left out, because this peer cannot have forgotten them.
std::uint64_t PeerResets::resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted) {
  const Result returned = context_.connection.run(
      "UPDATE #outbox AS o SET state=0, due_at_ms=0, not_before_ms=$4 FROM #sessions AS s WHERE s.id=o.session_id AND "
      "s.peer_id=$1 AND o.state=3 AND o.attempt>0 AND coalesce(o.expires_at_ms>$4,true) AND ($2::bigint=0 OR "
      "(o.session_id=$2::bigint AND o.sequence>$3)) RETURNING o.session_id,octet_length(o.data),o.sequence",
      peer, session, accepted, context_.now());
  if (returned.empty()) {
    return 0;
  }
  const std::int64_t rows = note(peer, returned, MessageState::acked);
  context_.connection.run("UPDATE #peers SET resent=resent+$2 WHERE id=$1", peer, rows);
  return static_cast<std::uint64_t>(rows);
}

// The peer has lost its deferred frames too. A process that waits for their outcome discovers them again.
void PeerResets::putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session) {
  const Result returned = context_.connection.run(
      "UPDATE #outbox AS o SET state=0, due_at_ms=0 FROM #sessions AS s WHERE s.id=o.session_id AND s.peer_id=$1 AND "
      "o.state=2 AND ($2::bigint=0 OR o.session_id=$2::bigint) RETURNING o.session_id,octet_length(o.data),o.sequence",
      peer, session);
  if (!returned.empty()) {
    note(peer, returned, MessageState::sent);
  }
}

std::int64_t PeerResets::note(delivery::PeerKey peer, const Result& returned, MessageState from) {
  ArrayText sessions;
  ArrayText sequences;
  for (const Row& row : returned) {
    context_.counts.addRows(peer, from, -1, row.integer(1));
    context_.counts.addRows(peer, MessageState::pending, 1, row.integer(1));
    sessions.add(row.integer(0));
    sequences.add(row.integer(2));
  }
  // In an unordered queue all sequences are 0.
  context_.connection.run(
      "UPDATE #session_states AS m SET recall=$3, previous_sequence=least(m.previous_sequence,greatest(u.first,1)-1) "
      "FROM (SELECT session,min(sequence) AS first FROM unnest($1::bigint[],$2::bigint[]) AS r(session,sequence) GROUP "
      "BY session) AS u WHERE m.session_id=u.session",
      sessions.text(), sequences.text(), countRecall());
  return static_cast<std::int64_t>(returned.size());
}

// Skips unordered queues, in which no row can overtake another. They keep the recall of their reset: a later number
// would also void answers to requests that were claimed after the reset, which would cause further recalls without end.
void PeerResets::recall(const std::set<delivery::SessionKey>& sessions) {
  const std::vector<std::int64_t> keys(sessions.begin(), sessions.end());
  context_.connection.run(
      "UPDATE #session_states AS m SET recall=$2 FROM #sessions AS s WHERE s.id=m.session_id AND s.lane=0 AND "
      "s.id=ANY($1::bigint[])",
      arrayOf(keys), countRecall());
}

std::int64_t PeerResets::countRecall() {
  context_.recallsMade =
      context_.connection.run("UPDATE #meta SET recalls=recalls+1, orders=orders+1 RETURNING recalls")
          .front()
          .integer(0);
  return context_.recallsMade;
}

}  // namespace ackbox::store::postgres
