#include "store/sqlite/peers/peer_resets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/policies.hpp"

namespace ackbox::store {
namespace {

// Of peer ?1; of its session ?2 only what is above ?3, or 0: of all. ?4 is now. What was acknowledged without having
// been sent was never this peer's to forget.
constexpr const char* kKept =
    " FROM #outbox INDEXED BY #outbox_acked WHERE state=3 AND attempt>0 AND coalesce(expires_at_ms>?4,1) AND "
    "session_id IN (SELECT id FROM #sessions WHERE peer_id=?1) AND (?2=0 OR (session_id=?2 AND sequence>?3))";

// What peer ?1 has deferred, in its session ?2, or 0: in all.
constexpr const char* kDeferred =
    " FROM #outbox WHERE state=2 AND session_id IN (SELECT id FROM #sessions WHERE peer_id=?1) AND (?2=0 OR "
    "session_id=?2)";

constexpr const char* kGrouped = "SELECT session_id,count(*),sum(length(data)),min(id),min(sequence)";

}  // namespace

PeerResets::PeerResets(Context& context, Peers& peers)
    : context_(context),
      peers_(peers),
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
      selectDeferred_(context.prepare(std::string(kGrouped) + kDeferred + " GROUP BY session_id")),
      putBackDeferred_(context.prepare(std::string("UPDATE #outbox SET state=0, due_at_ms=0 WHERE id IN (SELECT id") +
                                       kDeferred + ")")),
      countResent_(context.prepare("UPDATE #peers SET resent=resent+?2 WHERE id=?1")) {}

std::optional<PeerResetEvent> PeerResets::hear(const delivery::PeerIdentity& news) {
  if (!news.found) {
    Query(meet_, news.peer, news.store, news.storeEpoch).run();
    return std::nullopt;
  }
  context_.claimCache.forgetSessions();
  PeerResetEvent event;
  event.kind = *news.found;
  event.store = news.store;
  event.expected = news.expected;
  event.accepted = news.accepted;
  if (const PeerRow* peer = peers_.find(news.peer)) {
    event.peer = peer->name;
  }
  if (Query query(selectSession_, news.session); query.next()) {
    event.session = query.text(0);
  }
  switch (*news.found) {
    case PeerResetKind::peerLost:
      return noteLost(news, event) ? std::optional(event) : std::nullopt;
    case PeerResetKind::peerRestored:
      noteRestored(news, event);
      break;
    case PeerResetKind::selfRestored:
      break;
  }
  return event;
}

bool PeerResets::noteLost(const delivery::PeerIdentity& news, PeerResetEvent& event) {
  {
    Query query(selectPeer_, news.peer);
    if (!query.next() || query.view(0) == news.store) {
      // Another process was first.
      return false;
    }
    event.storeBefore = query.text(0);
  }
  Query(lose_, news.peer, news.store, news.storeEpoch, context_.clock.wallNow()).run();
  Query(recallSessions_, news.peer, recalled()).run();
  context_.states.flush();
  Query(loseStates_, news.peer).run();
  context_.states.forget();
  putBackDeferred(news.peer, 0);
  if (peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend) {
    event.resent = resend(news.peer, 0, 0);
  }
  return true;
}

// All that is kept goes out again, as sessions that say nothing may have been forgotten, too; whatever the peer still
// knows is a duplicate. Once for each time that it went back: further sessions in which the same shows bring their own.
void PeerResets::noteRestored(const delivery::PeerIdentity& news, PeerResetEvent& event) {
  std::uint64_t resentAt = 0;
  if (Query query(selectPeer_, news.peer); query.next()) {
    resentAt = query.as<std::uint64_t>(1);
  }
  const bool resends = peerResetPolicyOf(context_.options, event.peer) == PeerResetPolicy::resend;
  const bool isWhole = resends && (news.isFresh || news.storeEpoch != resentAt);
  Query(restore_, news.peer, isWhole ? news.storeEpoch : resentAt, context_.clock.wallNow()).run();
  std::uint64_t& previous = context_.states.change(news.session).previousSequence;
  previous = std::min(previous, news.accepted);
  if (isWhole) {
    // What is under way was claimed before: its answers may be from the time that the peer has forgotten.
    Query(recallSessions_, news.peer, recalled()).run();
  }
  putBackDeferred(news.peer, isWhole ? 0 : news.session);
  if (resends) {
    event.resent = isWhole ? resend(news.peer, 0, 0) : resend(news.peer, news.session, news.accepted);
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

// The peer has forgotten these with the rest. Whoever waits for them, here or in another process, is told of them anew.
void PeerResets::putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session) {
  if (context_.counters.value(Counter::sent) == 0) {
    return;
  }
  const std::vector<Returned> returned = read(Query(selectDeferred_, peer, session));
  if (!returned.empty()) {
    Query(putBackDeferred_, peer, session).run();
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
  const std::int64_t recall = recalled();
  std::int64_t rows = 0;
  for (const Returned& one : returned) {
    context_.counters.leave(one.session, from, one.rows, one.bytes);
    context_.counters.enter(one.session, MessageState::pending, one.rows, one.bytes);
    context_.oldest.returned(one.first);
    Query(recallSession_, one.session, recall).run();
    SessionState& state = context_.states.change(one.session);
    state.head = state.head == 0 ? one.first : std::min(state.head, one.first);
    // In a lane all numbers are 0.
    state.previousSequence = std::min(state.previousSequence, std::max<std::uint64_t>(one.firstSequence, 1) - 1);
    rows += one.rows;
  }
  return rows;
}

// Unordered rows have nothing that could pass them. Their session keeps the number of its reset: by a later one,
// answers to the others' requests, which were claimed after the reset, would count for nothing as well, and so on
// without end.
void PeerResets::recall(const std::set<delivery::SessionKey>& sessions) {
  const std::int64_t recall = recalled();
  for (const delivery::SessionKey session : sessions) {
    Query(recallOrdered_, session, recall).run();
    context_.claimCache.forget(session);
  }
}

std::int64_t PeerResets::recalled() {
  Query(countRecall_).run();
  return recalls();
}

std::int64_t PeerResets::recalls() {
  Query query(selectRecalls_);
  query.next();
  return query.integer(0);
}

}  // namespace ackbox::store
