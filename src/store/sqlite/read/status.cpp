#include "store/sqlite/read/status.hpp"

#include <string>
#include <utility>

#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
StatusReader::StatusReader(sqlite3* connection, std::string_view prefix)
    : selectPeers_(connection,
                   std::string("SELECT id,name,down,hold,failures,next_probe_at_ms,last_error,changed_at_ms,"
                               "paused_at_ms,definition,removed_at_ms FROM #peers AS p WHERE ")
                       .append(kIsPeerShown)
                       .append(" ORDER BY name"),
                   prefix),
      selectBlocked_(connection,
                     std::string("SELECT p.name,s.name,s.blocked_at_ms,")
                         .append(kSessionLive)
                         .append(",")
                         .append(kMessageId)
                         .append(",o.sequence,o.reason,o.last_error FROM #sessions AS s INDEXED BY "
                                 "#sessions_blocked JOIN #session_states AS m ON m.session_id=s.id JOIN #peers AS p ON "
                                 "p.id=s.peer_id JOIN #outbox AS o ON "
                                 "o.id=s.blocked_by LEFT JOIN ")
                         .append(kUnwrittenTails)
                         .append(" AS t ON t.session_id=s.id WHERE s.blocked_by<>0 ORDER BY s.blocked_by LIMIT ?1"),
                     prefix),
      selectSubscriptions_(connection,
                           "SELECT s.name,p.name,s.type,s.session,s.since_at_ms FROM #subscriptions AS s JOIN #peers "
                           "AS p ON p.id=s.peer_id ORDER BY s.name",
                           prefix) {}

std::vector<KeyedStatus> StatusReader::peers() {
  std::vector<KeyedStatus> found;
  Query query(selectPeers_);
  while (query.next()) {
    KeyedStatus peer;
    peer.key = query.integer(0);
    peer.status.name = query.text(1);
    const WallTime pausedAt = query.instant(8);
    delivery::PeerRecord record;
    record.down = query.integer(2) != 0;
    record.hold = query.as<delivery::PeerHold>(3);
    peer.status.state = delivery::stateOf(record, pausedAt != WallTime{});
    peer.status.failures = query.as<std::uint32_t>(4);
    peer.status.nextProbeAt = query.instant(5);
    peer.status.lastError = query.text(6);
    peer.status.definition = query.text(9);
    peer.status.isRemoved = query.integer(10) != 0;
    peer.status.since = pausedAt != WallTime{} ? pausedAt : query.instant(7);
    found.push_back(std::move(peer));
  }
  return found;
}

std::vector<PeerSubscription> StatusReader::subscriptions() {
  std::vector<PeerSubscription> found;
  for (Query query(selectSubscriptions_); query.next();) {
    found.push_back({query.text(0), query.text(1), query.text(2), query.text(3), query.instant(4)});
  }
  return found;
}

std::vector<BlockedSession> StatusReader::blocked(std::size_t limit) {
  std::vector<BlockedSession> found;
  Query query(selectBlocked_, limit);
  while (query.next()) {
    BlockedSession blocked;
    blocked.peer = query.text(0);
    blocked.session = query.text(1);
    blocked.since = query.instant(2);
    blocked.waiting = query.as<std::uint64_t>(3);
    blocked.messageId = query.text(4);
    blocked.sequence = query.as<std::uint64_t>(5);
    blocked.reason = query.text(6);
    blocked.lastError = query.text(7);
    found.push_back(std::move(blocked));
  }
  return found;
}

}  // namespace ackbox::store::sqlite
