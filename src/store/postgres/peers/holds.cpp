#include "store/postgres/peers/holds.hpp"

#include <string>

#include "ackbox/error.hpp"

namespace ackbox::store::postgres {

bool Holds::pausePeer(std::string_view peer) {
  return changed(
      context_.connection
          .run("UPDATE #peers SET paused_at_ms=$2 WHERE id=$1 AND paused_at_ms=0", peerOf(peer), context_.now())
          .changed());
}

// A disabled peer is probed again, so it becomes held until it answers.
bool Holds::resumePeer(std::string_view peer) {
  const Result result = context_.connection.run(
      "UPDATE #peers AS p SET paused_at_ms=0, resumes=p.resumes+1, hold=least(p.hold,1), next_probe_at_ms=$2 FROM "
      "(SELECT id,paused_at_ms FROM #peers WHERE id=$1 FOR UPDATE) AS b WHERE p.id=b.id RETURNING b.paused_at_ms<>0",
      peerOf(peer), context_.now());
  countChange();
  return !result.empty() && result.front().integer(0) != 0;
}

bool Holds::pauseSession(std::string_view peer, std::string_view session) {
  if (session.empty()) {
    throw OptionError("session", "is empty", "a name; unordered messages are paused with their peer");
  }
  const delivery::PeerKey key = peerOf(peer);
  context_.connection.run(
      "WITH made AS (INSERT INTO #sessions(peer_id,name,priority) VALUES($1,$2,$3) ON CONFLICT DO NOTHING RETURNING "
      "id) INSERT INTO #session_states(session_id) SELECT id FROM made",
      key, session, int{kPriorityDefault});
  return changed(context_.connection
                     .run("UPDATE #session_states AS m SET paused_at_ms=$3 FROM #sessions AS s WHERE s.peer_id=$1 AND "
                          "s.name=$2 AND s.lane=0 AND m.session_id=s.id AND m.paused_at_ms=0",
                          key, session, context_.now())
                     .changed());
}

bool Holds::resumeSession(std::string_view peer, std::string_view session) {
  return changed(context_.connection
                     .run("UPDATE #session_states AS m SET paused_at_ms=0 FROM #sessions AS s WHERE s.peer_id=$1 AND "
                          "s.name=$2 AND s.lane=0 AND m.session_id=s.id AND m.paused_at_ms<>0",
                          peerOf(peer), session)
                     .changed());
}

bool Holds::unblock(std::string_view peer, std::string_view session) {
  return changed(context_.connection
                     .run("UPDATE #session_states AS m SET blocked_by=0, blocked_at_ms=0 FROM #sessions AS s WHERE "
                          "s.peer_id=$1 AND s.name=$2 AND s.lane=0 AND m.session_id=s.id AND m.blocked_by<>0",
                          peerOf(peer), session)
                     .changed());
}

void Holds::block(delivery::SessionKey session, delivery::MessageKey key) {
  context_.connection.run(
      "UPDATE #session_states SET blocked_by=$2, blocked_at_ms=$3 WHERE session_id=$1 AND blocked_by=0", session, key,
      context_.now());
}

void Holds::endBlock(delivery::SessionKey session, delivery::MessageKey key) {
  changed(context_.connection
              .run("UPDATE #session_states SET blocked_by=0, blocked_at_ms=0 WHERE session_id=$1 AND blocked_by=$2",
                   session, key)
              .changed());
}

bool Holds::changed(std::size_t rows) {
  if (rows != 0) {
    countChange();
  }
  return rows != 0;
}

void Holds::noteOrders(std::int64_t orders) noexcept {
  isChanged_ = isChanged_ || orders != context_.orders;
  context_.orders = orders;
}

std::optional<delivery::HoldSnapshot> Holds::takeChanged() {
  if (!isChanged_) {
    return std::nullopt;
  }
  delivery::HoldSnapshot holds;
  for (const Row& row : context_.connection.run(
           "SELECT id,down,hold,failures,down_since_ms,next_probe_at_ms,last_error,paused_at_ms<>0,resumes,"
           "removed_at_ms<>0 FROM #peers")) {
    delivery::PeerHolds& peer = holds.peers.emplace_back();
    Columns columns(row);
    columns >> peer.record.peer >> peer.record.down >> peer.record.hold >> peer.record.failures >>
        peer.record.downSince >> peer.record.nextProbeAt >> peer.record.error >> peer.isPaused >> peer.resumes >>
        peer.isRemoved;
  }
  holds.sessions = context_.connection
                       .run(
                           "SELECT session_id FROM #session_states WHERE paused_at_ms<>0 UNION SELECT session_id FROM "
                           "#session_states WHERE blocked_by<>0 ORDER BY session_id")
                       .integers();
  isChanged_ = false;
  return holds;
}

delivery::PeerKey Holds::peerOf(std::string_view peer) {
  const Result result = context_.connection.run("SELECT id FROM #peers WHERE name=$1 AND removed_at_ms=0", peer);
  if (result.empty()) {
    throw Error(Errc::unknownPeer, "'" + std::string(peer) + "'");
  }
  return result.front().integer(0);
}

// The row of the count is locked until the end of the transaction: orders are given one after the other.
void Holds::countChange() {
  context_.connection.run("UPDATE #meta SET orders=orders+1");
  isChanged_ = true;
}

}  // namespace ackbox::store::postgres
