#include "store/sqlite/read/stats_reader.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/read/message_pages.hpp"
#include "store/sqlite/read/status.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// The columns after those of `sessionStatsOf`.
constexpr int kSessionKeyColumn = 10;
constexpr int kSessionChosenColumn = 11;

std::string selectSession() {
  return std::string("SELECT p.name,s.name,")
      .append(kSessionLive)
      .append(",m.failed,")
      .append(kSessionLastSequence)
      .append(",m.previous_sequence,")
      .append(kSessionOwner)
      .append(",m.due_at_ms,s.paused_at_ms,s.blocked_at_ms,s.id,(?1 IS NULL OR p.name=?1)");
}

// The columns of `#peer_counters` follow those of `#peers`; an only peer of a file has no row there.
PeerStats peerStatsOf(const Query& query, const CounterValues& totals, Counters& counters, std::uint64_t sending) {
  constexpr int kFirst = 11;
  const PeerCounterValues uncounted = counters.uncountedOf(query.integer(10));
  const bool own = query.integer(kFirst + static_cast<int>(kPeerCounterCount)) != 0;
  const auto at = [&](Counter counter) {
    const auto index = static_cast<std::size_t>(counter);
    const std::int64_t value =
        own ? query.integer(kFirst + static_cast<int>(index)) + uncounted.at(index) : totals.at(index);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
  };
  PeerStats stats;
  stats.peer = query.text(0);
  stats.down = query.integer(1) != 0;
  stats.failures = query.as<std::uint64_t>(2);
  if (stats.down) {
    stats.downSince = query.instant(3);
    stats.nextProbeAt = query.instant(4);
  }
  stats.lastError = query.text(5);
  stats.store = query.text(6);
  stats.resets = query.as<std::uint64_t>(7);
  if (query.integer(8) != 0) {
    stats.lastResetAt = query.instant(8);
  }
  stats.resent = query.as<std::uint64_t>(9);
  readPeerCounters(stats, at, sending);
  constexpr int kUnattended = kFirst + static_cast<int>(kPeerCounterCount) + 1;
  if (stats.sent != 0 && query.integer(kUnattended) != 0) {
    stats.unattendedSince = query.instant(kUnattended);
    stats.unattendedType = query.text(kUnattended + 1);
  }
  return stats;
}

// 0 stands for no instant.
std::optional<WallTime> instantOrNothing(const Query& query, int column) {
  return query.integer(column) == 0 ? std::nullopt : std::optional(query.instant(column));
}

SessionStats sessionStatsOf(const Query& query) {
  SessionStats stats;
  stats.peer = query.text(0);
  stats.session = query.text(1);
  stats.live = static_cast<std::uint64_t>(std::max<std::int64_t>(0, query.integer(2)));
  stats.failed = static_cast<std::uint64_t>(std::max<std::int64_t>(0, query.integer(3)));
  stats.lastSequence = query.as<std::uint64_t>(4);
  stats.acceptedSequence = query.as<std::uint64_t>(5);
  stats.inFlight = query.integer(6) != 0 && stats.live != 0;
  stats.dueAt = instantOrNothing(query, 7);
  stats.pausedAt = instantOrNothing(query, 8);
  stats.blockedAt = instantOrNothing(query, 9);
  return stats;
}

}  // namespace

StatsReader::StatsReader(sqlite3* connection, const OutboxOptions& options)
    : options_(options),
      fileName_(sqlite3_db_filename(connection, "main")),
      counters_(connection, options_.tablePrefix),
      oldest_(connection, "SELECT id,created_at_ms FROM #outbox WHERE id>=?1 AND state IN (0,1,2) ORDER BY id LIMIT 1",
              options_.tablePrefix),
      pages_(connection,
             "SELECT p.page_count,f.freelist_count,s.page_size FROM pragma_page_count AS p,"
             "pragma_freelist_count AS f,pragma_page_size AS s",
             {}),
      peers_(connection,
             "SELECT p.name,p.down,p.failures,p.down_since_ms,p.next_probe_at_ms,p.last_error,p.store,p.resets,"
             "p.reset_at_ms,p.resent,p.id," +
                 peerCounterColumns() +
                 ",c.peer_id IS NOT NULL,p.unattended_since_ms,p.unattended_type FROM #peers AS p LEFT JOIN "
                 "#peer_counters AS c ON "
                 "c.peer_id=p.id WHERE " +
                 std::string(kIsPeerShown) + " ORDER BY p.id",
             options_.tablePrefix),
      session_(connection,
               selectSession() +
                   " FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id JOIN #peers AS p ON "
                   "p.id=s.peer_id LEFT JOIN " +
                   std::string(kUnwrittenTails) +
                   " AS t ON t.session_id=s.id WHERE p.name=?1 AND s.name=?2 AND s.lane=0",
               options_.tablePrefix),
      sessions_(connection,
                selectSession() + " AND (NOT ?2 OR " + std::string(kSessionLive) +
                    "<>0 OR m.failed<>0 OR s.paused_at_ms<>0) FROM #sessions AS s CROSS JOIN #session_states AS m ON "
                    "m.session_id=s.id "
                    "CROSS JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN " +
                    std::string(kUnwrittenTails) +
                    " AS t ON t.session_id=s.id WHERE s.id>?3 AND s.lane=0 ORDER BY s.id LIMIT ?4",
                options_.tablePrefix),
      claims_(connection, "SELECT bits FROM #claims WHERE block>=0", options_.tablePrefix),
      claimsOfPeers_(connection,
                     std::string("SELECT s.peer_id,count(*) FROM ")
                         .append(kClaimedRows)
                         .append(" CROSS JOIN #sessions AS s ON s.id=o.session_id GROUP BY s.peer_id"),
                     options_.tablePrefix),
      senders_(connection,
               "SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM #inbound_senders ORDER BY "
               "bytes+inbox_bytes DESC, source LIMIT ?1",
               options_.tablePrefix),
      origins_(connection,
               "SELECT origin,epoch,(SELECT count(*) FROM #inbound_sessions AS s WHERE s.source=o.source AND "
               "s.origin=o.origin),state<>0,began_at_ms,seen_at_ms FROM #inbound_origins AS o WHERE source=?1 ORDER BY "
               "seen_at_ms DESC, origin LIMIT ?2",
               options_.tablePrefix) {}

Stats StatsReader::stats() {
  counters_.forget();
  Stats stats = toStats(counters_.values(), sending());
  if (stats.pending + stats.sending + stats.sent != 0) {
    stats.oldestPendingAt = readOldest();
  }
  if (stats.oldestPendingAt) {
    stats.oldestPendingAge = std::max(options_.clock->wallNow() - *stats.oldestPendingAt, std::chrono::milliseconds(0));
  }
  readSizes(stats);
  return stats;
}

// Examines the log by its path only: opening and closing SQLite's files in this process would drop SQLite's locks.
void StatsReader::readSizes(Stats& stats) {
  Query query(pages_);
  query.next();
  const auto pageBytes = query.as<std::uint64_t>(2);
  stats.fileBytes = query.as<std::uint64_t>(0) * pageBytes;
  stats.freeBytes = query.as<std::uint64_t>(1) * pageBytes;
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(sqlite3_filename_wal(fileName_), absent);
  stats.walBytes = absent ? 0 : bytes;
}

std::vector<PeerStats> StatsReader::peers() {
  counters_.forget();
  const CounterValues totals = counters_.values();
  std::unordered_map<delivery::PeerKey, std::uint64_t> sending = sendingToPeers();
  std::vector<PeerStats> peers;
  for (Query query(peers_); query.next();) {
    peers.push_back(peerStatsOf(query, totals, counters_, sending[query.integer(10)]));
  }
  return peers;
}

std::uint64_t StatsReader::sending() {
  int messages = 0;
  for (Query query(claims_); query.next();) {
    messages += std::popcount(query.as<std::uint64_t>(0));
  }
  return static_cast<std::uint64_t>(messages);
}

std::unordered_map<delivery::PeerKey, std::uint64_t> StatsReader::sendingToPeers() {
  std::unordered_map<delivery::PeerKey, std::uint64_t> messages;
  for (Query query(claimsOfPeers_); query.next();) {
    messages.emplace(query.integer(0), query.as<std::uint64_t>(1));
  }
  return messages;
}

std::optional<WallTime> StatsReader::readOldest() {
  const std::int64_t floor = counters_.value(Counter::oldestKey);
  oldestKey_ = floor < floorSeen_ ? floor : std::max(oldestKey_, floor);
  floorSeen_ = floor;
  Query query(oldest_, oldestKey_);
  if (!query.next()) {
    return std::nullopt;
  }
  oldestKey_ = query.integer(0);
  return query.instant(1);
}

std::int64_t StatsReader::passedFor(const MessageFilter& filter) {
  if (filter.state != MessageState::pending && filter.state != MessageState::sent) {
    return 0;
  }
  counters_.forget();
  const Stats stats = toStats(counters_.values(), 0);
  return stats.pending + stats.sent != 0 && readOldest() ? oldestKey_ - 1 : 0;
}

std::optional<SessionStats> StatsReader::session(std::string_view peer, std::string_view session) {
  Query query(session_, peer, session);
  return query.next() ? std::optional(sessionStatsOf(query)) : std::nullopt;
}

SessionPage StatsReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) {
  SessionPage page;
  std::size_t looked = 0;
  for (Query query(sessions_, filter.peer, filter.occupied, after, kPageLooks); query.next();) {
    ++looked;
    if (query.integer(kSessionChosenColumn) != 0) {
      page.sessions.push_back(sessionStatsOf(query));
    }
    if (page.sessions.size() == limit || looked == kPageLooks) {
      page.next = query.integer(kSessionKeyColumn);
      break;
    }
  }
  return page;
}

std::vector<InboundSenderStats> StatsReader::senders(std::size_t limit) {
  std::vector<InboundSenderStats> senders;
  for (Query query(senders_, limit); query.next();) {
    senders.push_back({query.text(0), query.as<std::uint64_t>(1), query.as<std::uint64_t>(2),
                       query.as<std::uint64_t>(3), query.as<std::uint64_t>(4), query.as<std::uint64_t>(5),
                       query.as<std::uint64_t>(6)});
  }
  return senders;
}

std::vector<InboundOriginStats> StatsReader::origins(std::string_view source, std::size_t limit) {
  std::vector<InboundOriginStats> origins;
  for (Query query(origins_, source, limit); query.next();) {
    InboundOriginStats& origin = origins.emplace_back();
    origin.origin = query.text(0);
    origin.epoch = query.as<std::uint64_t>(1);
    origin.sessions = query.as<std::uint64_t>(2);
    origin.isClosed = query.integer(3) != 0;
    origin.beganAt = query.instant(4);
    origin.seenAt = query.instant(5);
  }
  return origins;
}

std::int64_t StatsReader::oldestKey() {
  counters_.forget();
  readOldest();
  return oldestKey_;
}

}  // namespace ackbox::store::sqlite
