#include "store/sqlite/peers/holds.hpp"

#include <string>

namespace ackbox::store::sqlite {

Holds::Holds(Context& context)
    : context_(context),
      findPeer_(context.prepare("SELECT id FROM #peers WHERE name=?1 AND removed_at_ms=0")),
      pausePeer_(context.prepare("UPDATE #peers SET paused_at_ms=?2 WHERE id=?1 AND paused_at_ms=0")),
      isPeerPaused_(context.prepare("SELECT paused_at_ms<>0 FROM #peers WHERE id=?1")),
      // A disabled peer is probed again, so it becomes held until it answers.
      resumePeer_(context.prepare("UPDATE #peers SET paused_at_ms=0, resumes=resumes+1, hold=min(hold,1), "
                                  "next_probe_at_ms=?2 WHERE id=?1")),
      createSession_(
          context.prepare("INSERT INTO #sessions(peer_id,name,lane) VALUES(?1,?2,0) ON CONFLICT DO NOTHING")),
      createState_(context.prepare(kInsertState)),
      pauseSession_(context.prepare("UPDATE #sessions SET paused_at_ms=?3 WHERE peer_id=?1 AND name=?2 AND lane=0 AND "
                                    "paused_at_ms=0")),
      resumeSession_(context.prepare("UPDATE #sessions SET paused_at_ms=0 WHERE peer_id=?1 AND name=?2 AND lane=0 AND "
                                     "paused_at_ms<>0")),
      unblock_(context.prepare(
          "UPDATE #sessions SET blocked_by=0, blocked_at_ms=0 WHERE peer_id=?1 AND name=?2 AND lane=0 AND "
          "blocked_by<>0")),
      block_(context.prepare("UPDATE #sessions SET blocked_by=?2, blocked_at_ms=?3 WHERE id=?1 AND blocked_by=0")),
      release_(context.prepare("UPDATE #sessions SET blocked_by=0, blocked_at_ms=0 WHERE id=?1 AND blocked_by=?2")),
      countChange_(context.prepare("UPDATE #meta SET orders=orders+1")),
      count_(context.prepare("SELECT orders FROM #meta")),
      selectPeers_(context.prepare("SELECT id,down,hold,failures,down_since_ms,next_probe_at_ms,last_error,"
                                   "paused_at_ms<>0,resumes,removed_at_ms<>0 FROM #peers")),
      selectSessions_(
          context.prepare("SELECT id FROM #sessions INDEXED BY #sessions_paused WHERE paused_at_ms<>0 UNION "
                          "SELECT id FROM #sessions INDEXED BY #sessions_blocked WHERE blocked_by<>0 ORDER BY id")) {}

bool Holds::pausePeer(std::string_view peer) {
  const bool changed = Query(pausePeer_, peerOf(peer), context_.clock.wallNow()).run() != 0;
  if (changed) {
    countChange();
  }
  return changed;
}

bool Holds::resumePeer(std::string_view peer) {
  const delivery::PeerKey key = peerOf(peer);
  bool wasPaused = false;
  {
    Query query(isPeerPaused_, key);
    wasPaused = query.next() && query.integer(0) != 0;
  }
  Query(resumePeer_, key, context_.clock.wallNow()).run();
  countChange();
  return wasPaused;
}

bool Holds::pauseSession(std::string_view peer, std::string_view session) {
  if (session.empty()) {
    throw OptionError("session", "is empty", "a name; unordered messages are paused with their peer");
  }
  const delivery::PeerKey key = peerOf(peer);
  if (Query(createSession_, key, session).run() != 0) {
    Query(createState_, sqlite3_last_insert_rowid(context_.connection.handle())).run();
  }
  const bool changed = Query(pauseSession_, key, session, context_.clock.wallNow()).run() != 0;
  if (changed) {
    countChange();
  }
  return changed;
}

bool Holds::resumeSession(std::string_view peer, std::string_view session) {
  const bool changed = Query(resumeSession_, peerOf(peer), session).run() != 0;
  if (changed) {
    countChange();
  }
  return changed;
}

bool Holds::unblock(std::string_view peer, std::string_view session) {
  const bool changed = Query(unblock_, peerOf(peer), session).run() != 0;
  if (changed) {
    countChange();
  }
  return changed;
}

void Holds::block(delivery::SessionKey session, delivery::MessageKey key) {
  Query(block_, session, key, context_.clock.wallNow()).run();
  context_.claimCache.forget(session);
}

void Holds::endBlock(delivery::SessionKey session, delivery::MessageKey key) {
  if (Query(release_, session, key).run() != 0) {
    countChange();
  }
}

void Holds::begun(bool othersCommitted) {
  if (othersCommitted) {
    refresh();
  }
}

void Holds::refresh() {
  Query query(count_);
  query.next();
  const std::int64_t now = query.integer(0);
  isChanged_ = isChanged_ || now != context_.orders;
  context_.orders = now;
}

std::optional<delivery::HoldSnapshot> Holds::takeChanged() {
  if (!isChanged_) {
    return std::nullopt;
  }
  delivery::HoldSnapshot holds;
  {
    Query query(selectPeers_);
    while (query.next()) {
      delivery::PeerHolds peer;
      Columns columns(query);
      columns >> peer.record.peer >> peer.record.down >> peer.record.hold >> peer.record.failures >>
          peer.record.downSince >> peer.record.nextProbeAt >> peer.record.error >> peer.isPaused >> peer.resumes >>
          peer.isRemoved;
      holds.peers.push_back(std::move(peer));
    }
  }
  Query query(selectSessions_);
  while (query.next()) {
    holds.sessions.push_back(query.integer(0));
  }
  isChanged_ = false;
  return holds;
}

delivery::PeerKey Holds::peerOf(std::string_view peer) {
  Query query(findPeer_, peer);
  if (!query.next()) {
    throw Error(Errc::unknownPeer, "'" + std::string(peer) + "'");
  }
  return query.integer(0);
}

void Holds::countChange() {
  Query(countChange_).run();
  context_.claimCache.forgetSessions();
  isChanged_ = true;
}

}  // namespace ackbox::store::sqlite
