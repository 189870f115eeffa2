#include "store/sqlite/peers/peer_resets.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/policies.hpp"

namespace ackbox::store::sqlite {
namespace {

// The retained rows of peer ?1; of session ?2 only those above ?3, or of all sessions if ?2 is 0. ?4 is now. Rows that
// were acknowledged but never sent are excluded, because this peer cannot have forgotten them.
constexpr const char* kKept =
    " FROM #outbox INDEXED BY #outbox_acked WHERE state=3 AND attempt>0 AND coalesce(expires_at_ms>?4,1) AND "
    "session_id IN (SELECT id FROM #sessions WHERE peer_id=?1) AND (?2=0 OR (session_id=?2 AND sequence>?3))";

constexpr const char* kDeferred =
    "SELECT session_id,length(data),id,sequence FROM #outbox INDEXED BY #outbox_deferred WHERE state=2 AND ";

constexpr const char* kGrouped = "SELECT session_id,count(*),sum(length(data)),min(id),min(sequence)";

}  // namespace

PeerResets::PeerResets(Context& context, Peers& peers, Discovery& discovery)
    : context_(context),
      peers_(peers),
      discovery_(discovery),
      meet_(context.prepare("UPDATE #peers SET store=?2, store_epoch=max(store_epoch,?3) WHERE id=?1 AND store IN "
                            "('',?2)")),
      selectPeer_(context.prepare("SELECT store,resent_store_epoch FROM #peers WHERE id=?1")),
      lose_(context.prepare("UPDATE #peers SET store=?2, store_epoch=?3, resent_store_epoch=?3, resets=resets+1, "
                            "reset_at_ms=?4 WHERE id=?1")),
      recallSessions_(context.prepare("UPDATE #sessions SET recall=?2 WHERE peer_id=?1")),
      loseStates_(context.prepare("UPDATE #session_states SET previous_sequence=0 WHERE session_id IN (SELECT id FROM "
                                  "#sessions WHERE peer_id=?1 AND lane=0)")),
      restore_(context.prepare("UPDATE #peers SET resent_store_epoch=?2, resets=resets+1, reset_at_ms=?3 WHERE id=?1")),
      recallSession_(context.prepare("UPDATE #sessions SET recall=?2 WHERE id=?1")),
      recallOrdered_(context.prepare("UPDATE #sessions SET recall=?2 WHERE id=?1 AND lane=0")),
      selectSession_(context.prepare("SELECT name FROM #sessions WHERE id=?1")),
      countRecall_(context.prepare("UPDATE #meta SET recalls=recalls+1, orders=orders+1")),
      selectRecalls_(context.prepare("SELECT recalls FROM #meta")),
      selectKept_(context.prepare(std::string(kGrouped) + kKept + " GROUP BY session_id")),
      putBackKept_(context.prepare(std::string("UPDATE #outbox SET state=0, due_at_ms=0, not_before_ms=?4 WHERE id IN "
                                               "(SELECT id") +
                                   kKept + ")")),
      selectDeferred_(context.prepare(std::string(kDeferred) + "session_id=?1 ORDER BY session_id,id")),
      selectDeferredOfPeer_(context.prepare(std::string(kDeferred) + "session_id IN (SELECT id FROM #sessions WHERE "
                                                                     "peer_id=?1) ORDER BY session_id,id")),
      putBackDeferred_(context.prepare("UPDATE #outbox SET state=0, due_at_ms=0 WHERE id=?1")),
      countResent_(context.prepare("UPDATE #peers SET resent=resent+?2 WHERE id=?1")) {}

void PeerResets::begun(bool othersCommitted) {
  if (othersCommitted) {
    refresh();
    // Another process may have put rows back.
    committed();
  }
}

void PeerResets::committed() noexcept {
  UnscopedWriteBack::committed();
  if (std::exchange(committed_, context_.recallsMade) != context_.recallsMade) {
    discovery_.startOver(context_.recallsMade);
  }
}

void PeerResets::rolledBack() noexcept {
  UnscopedWriteBack::rolledBack();
  context_.recallsMade = committed_;
}

void PeerResets::refresh() {
  Query query(selectRecalls_);
  query.next();
  context_.recallsMade = query.integer(0);
}

std::optional<PeerResetEvent> PeerResets::recordIdentity(const delivery::PeerIdentity& identity) {
  requireNoScope();
  context_.gathered.flush();
  if (!identity.found) {
    Query(meet_, identity.peer, identity.store, identity.storeEpoch).run();
    return std::nullopt;
  }
  context_.claimCache.forgetSessions();
  PeerResetEvent event;
  event.kind = *identity.found;
  event.store = identity.store;
  event.expected = identity.expected;
  event.accepted = identity.accepted;
  if (const PeerRow* peer = peers_.find(identity.peer)) {
    event.peer = peer->name;
  }
  if (Query query(selectSession_, identity.session); query.next()) {
    event.session = query.text(0);
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
  {
    Query query(selectPeer_, identity.peer);
    if (!query.next() || query.view(0) == identity.store) {
      // Another process has already recorded it.
      return false;
    }
    event.storeBefore = query.text(0);
  }
  Query(lose_, identity.peer, identity.store, identity.storeEpoch, context_.clock.wallNow()).run();
  Query(recallSessions_, identity.peer, countRecall()).run();
  context_.states.flush();
  Query(loseStates_, identity.peer).run();
  context_.states.forget();
  putBackDeferred(identity.peer, 0);
  if (peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend) {
    event.resent = resend(identity.peer, 0, 0);
  }
  return true;
}

// Resends all retained rows, because sessions that show nothing may have been forgotten too; rows that the peer still
// knows are duplicates. Once per restore of the peer; further sessions that show it resend only their own rows.
void PeerResets::noteRestored(const delivery::PeerIdentity& identity, PeerResetEvent& event) {
  std::uint64_t resentAt = 0;
  if (Query query(selectPeer_, identity.peer); query.next()) {
    resentAt = query.as<std::uint64_t>(1);
  }
  const bool resends = peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend;
  const bool isWhole = resends && (identity.isFresh || identity.storeEpoch != resentAt);
  Query(restore_, identity.peer, isWhole ? identity.storeEpoch : resentAt, context_.clock.wallNow()).run();
  std::uint64_t& previous = context_.states.change(identity.session).previousSequence;
  previous = std::min(previous, identity.accepted);
  if (isWhole) {
    // Messages in flight were claimed before: their answers may come from the time that the peer has forgotten.
    Query(recallSessions_, identity.peer, countRecall()).run();
  }
  putBackDeferred(identity.peer, isWhole ? 0 : identity.session);
  if (resends) {
    event.resent = isWhole ? resend(identity.peer, 0, 0) : resend(identity.peer, identity.session, identity.accepted);
  }
}

std::uint64_t PeerResets::resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted) {
  const WallTime now = context_.clock.wallNow();
  const std::vector<Returned> returned = read(Query(selectKept_, peer, session, accepted, now));
  if (returned.empty()) {
    return 0;
  }
  Query(putBackKept_, peer, session, accepted, now).run();
  const std::int64_t rows = note(returned, MessageState::acked);
  Query(countResent_, peer, rows).run();
  return static_cast<std::uint64_t>(rows);
}

// The peer has lost its deferred frames too. A process that waits for their outcome discovers them again.
void PeerResets::putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session) {
  if (context_.counters.value(Counter::sent) == 0) {
    return;
  }
  std::vector<Returned> returned;
  std::vector<delivery::MessageKey> keys;
  const bool isOfPeer = session == 0;
  Query query(isOfPeer ? selectDeferredOfPeer_ : selectDeferred_, isOfPeer ? peer : session);
  while (query.next()) {
    keys.push_back(query.integer(2));
    const Returned row{query.integer(0), 1, query.integer(1), keys.back(), query.as<std::uint64_t>(3)};
    if (returned.empty() || returned.back().session != row.session) {
      returned.push_back(row);
      continue;
    }
    Returned& sum = returned.back();
    ++sum.rows;
    sum.bytes += row.bytes;
    sum.firstSequence = std::min(sum.firstSequence, row.firstSequence);
  }
  // One row per statement: in a single statement, the planner might scan the whole table.
  for (const delivery::MessageKey key : keys) {
    Query(putBackDeferred_, key).run();
  }
  if (!returned.empty()) {
    note(returned, MessageState::sent);
  }
}

std::vector<PeerResets::Returned> PeerResets::read(Query&& query) {
  std::vector<Returned> all;
  while (query.next()) {
    all.push_back({query.integer(0), query.integer(1), query.integer(2), query.integer(3), query.as<std::uint64_t>(4)});
  }
  return all;
}

std::int64_t PeerResets::note(const std::vector<Returned>& returned, MessageState from) {
  const std::int64_t recall = countRecall();
  std::int64_t rows = 0;
  for (const Returned& one : returned) {
    context_.counters.subtractRows(one.session, from, one.rows, one.bytes);
    context_.counters.addRows(one.session, MessageState::pending, one.rows, one.bytes);
    context_.oldest.returned(one.first);
    Query(recallSession_, one.session, recall).run();
    SessionState& state = context_.states.change(one.session);
    state.head = state.head == 0 ? one.first : std::min(state.head, one.first);
    // In an unordered queue all sequences are 0.
    state.previousSequence = std::min(state.previousSequence, std::max<std::uint64_t>(one.firstSequence, 1) - 1);
    rows += one.rows;
  }
  return rows;
}

// Skips unordered queues, in which no row can overtake another. They keep the recall of their reset: a later number
// would also void answers to requests that were claimed after the reset, which would cause further recalls without end.
void PeerResets::recall(const std::set<delivery::SessionKey>& sessions) {
  const std::int64_t recall = countRecall();
  for (const delivery::SessionKey session : sessions) {
    Query(recallOrdered_, session, recall).run();
    context_.claimCache.forget(session);
  }
}

std::int64_t PeerResets::countRecall() {
  Query(countRecall_).run();
  refresh();
  return context_.recallsMade;
}

}  // namespace ackbox::store::sqlite
