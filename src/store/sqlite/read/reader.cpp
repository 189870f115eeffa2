#include "store/sqlite/read/reader.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "base/options.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/wal/log_check.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/outbound/attempt_log.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/explainer.hpp"
#include "store/sqlite/read/inbox_reader.hpp"
#include "store/sqlite/read/message_pages.hpp"
#include "store/sqlite/read/status.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store/sqlite/schema/notes.hpp"
#include "store/sqlite/schema/schema.hpp"

namespace ackbox::store::sqlite {

namespace {

// Behind the columns of `sessionStatsOf`.
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

// `#peer_counters` begins behind the columns of `#peers`; where the file knows one peer, it has no row there.
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

// 0 is written for none.
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

void requireOutbox(const std::filesystem::path& file, const OutboxOptions& options) {
  const ReadConnection database(file, options);
  // As if nothing may be created, whatever the options say.
  requireUsable(database.getHandle(), options.tablePrefix, false);
}

struct SqliteReader::Body {
  Body(const std::filesystem::path& file, const OutboxOptions& givenOptions)
      : options(validated(givenOptions)),
        database(file, options),
        fileName(sqlite3_db_filename(database.getHandle(), "main")),
        isImmutable(database.isImmutable()),
        counters(database.getHandle(), options.tablePrefix),
        oldest(database.getHandle(),
               "SELECT id,created_at_ms FROM #outbox WHERE id>=?1 AND state IN (0,1,2) ORDER BY id LIMIT 1",
               options.tablePrefix),
        find(database.getHandle(),
             "SELECT " + infoColumns() +
                 " FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id "
                 "WHERE o.id=" +
                 keyOfMessage(),
             options.tablePrefix),
        attempts(database.getHandle(), attemptSelect(), options.tablePrefix),
        frame(database.getHandle(),
              "SELECT p.name,s.name,o.type,o.data,o.expires_at_ms,o.traceparent,o.correlation_id,"
              "o.not_before_ms,s.priority,o.supersede_key FROM #outbox AS o "
              "JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE o.id=" +
                  keyOfMessage(),
              options.tablePrefix),
        messagePages(database.getHandle(), options),
        pages(database.getHandle(),
              "SELECT p.page_count,f.freelist_count,s.page_size FROM pragma_page_count AS p,"
              "pragma_freelist_count AS f,pragma_page_size AS s",
              {}),
        peers(database.getHandle(),
              "SELECT p.name,p.down,p.failures,p.down_since_ms,p.next_probe_at_ms,p.last_error,p.store,p.resets,"
              "p.reset_at_ms,p.resent,p.id," +
                  peerCounterColumns() +
                  ",c.peer_id IS NOT NULL,p.unattended_since_ms,p.unattended_type FROM #peers AS p LEFT JOIN "
                  "#peer_counters AS c ON "
                  "c.peer_id=p.id ORDER BY p.id",
              options.tablePrefix),
        session(database.getHandle(),
                selectSession() +
                    " FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id JOIN #peers AS p ON "
                    "p.id=s.peer_id LEFT JOIN " +
                    std::string(kUnwrittenTails) +
                    " AS t ON t.session_id=s.id WHERE p.name=?1 AND s.name=?2 AND s.lane=0",
                options.tablePrefix),
        sessions(database.getHandle(),
                 selectSession() + " AND (NOT ?2 OR " + std::string(kSessionLive) +
                     "<>0 OR m.failed<>0) FROM #sessions AS s CROSS JOIN #session_states AS m ON m.session_id=s.id "
                     "CROSS JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN " +
                     std::string(kUnwrittenTails) +
                     " AS t ON t.session_id=s.id WHERE s.id>?3 AND s.lane=0 ORDER BY s.id LIMIT ?4",
                 options.tablePrefix),
        claims(database.getHandle(), "SELECT bits FROM #claims WHERE block>=0", options.tablePrefix),
        claimsOfPeers(database.getHandle(),
                      std::string("SELECT s.peer_id,count(*) FROM ")
                          .append(kClaimedRows)
                          .append(" CROSS JOIN #sessions AS s ON s.id=o.session_id GROUP BY s.peer_id"),
                      options.tablePrefix),
        senders(database.getHandle(),
                "SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM #inbound_senders ORDER BY "
                "bytes+inbox_bytes DESC, source LIMIT ?1",
                options.tablePrefix),
        origins(
            database.getHandle(),
            "SELECT origin,epoch,(SELECT count(*) FROM #inbound_sessions AS s WHERE s.source=o.source AND "
            "s.origin=o.origin),state<>0,began_at_ms,seen_at_ms FROM #inbound_origins AS o WHERE source=?1 ORDER BY "
            "seen_at_ms DESC, origin LIMIT ?2",
            options.tablePrefix),
        owners(database.getHandle(), "SELECT id,pid FROM #owners ORDER BY id", options.tablePrefix),
        explainer(database.getHandle(), options),
        inboxReader(database.getHandle(), options),
        status(database.getHandle(), options.tablePrefix) {}

  std::uint64_t sending() ACKBOX_REQUIRES(mutex);
  std::unordered_map<delivery::PeerKey, std::uint64_t> sendingToPeers() ACKBOX_REQUIRES(mutex);
  std::optional<WallTime> readOldest() ACKBOX_REQUIRES(mutex);
  std::int64_t passedFor(const MessageFilter& filter) ACKBOX_REQUIRES(mutex);
  void readSizes(Stats& stats) ACKBOX_REQUIRES(mutex);
  std::optional<MessageInfo> readMessage(std::string_view messageId) ACKBOX_REQUIRES(mutex);

  // Constant after construction.
  const OutboxOptions options;

  Mutex mutex;
  ReadConnection database ACKBOX_GUARDED_BY(mutex);
  // Constant after construction, as the options.
  const char* const fileName;
  const bool isImmutable;
  Counters counters ACKBOX_GUARDED_BY(mutex);
  Statement oldest ACKBOX_GUARDED_BY(mutex);
  Statement find ACKBOX_GUARDED_BY(mutex);
  Statement attempts ACKBOX_GUARDED_BY(mutex);
  Statement frame ACKBOX_GUARDED_BY(mutex);
  MessagePages messagePages ACKBOX_GUARDED_BY(mutex);
  Statement pages ACKBOX_GUARDED_BY(mutex);
  Statement peers ACKBOX_GUARDED_BY(mutex);
  Statement session ACKBOX_GUARDED_BY(mutex);
  Statement sessions ACKBOX_GUARDED_BY(mutex);
  Statement claims ACKBOX_GUARDED_BY(mutex);
  Statement claimsOfPeers ACKBOX_GUARDED_BY(mutex);
  Statement senders ACKBOX_GUARDED_BY(mutex);
  Statement origins ACKBOX_GUARDED_BY(mutex);
  Statement owners ACKBOX_GUARDED_BY(mutex);
  Explainer explainer ACKBOX_GUARDED_BY(mutex);
  InboxReader inboxReader ACKBOX_GUARDED_BY(mutex);
  StatusReader status ACKBOX_GUARDED_BY(mutex);
  // No row below it is live: a redriven message gets a new key.
  std::int64_t oldestKey ACKBOX_GUARDED_BY(mutex) = 0;
  // The stored floor that it was found above. A lower one later says that old rows are live again.
  std::int64_t floorSeen ACKBOX_GUARDED_BY(mutex) = 0;
};

SqliteReader::SqliteReader(const std::filesystem::path& file, const OutboxOptions& options)
    : body_(std::make_unique<Body>(file, options)) {}

SqliteReader::~SqliteReader() = default;

std::uint64_t SqliteReader::Body::sending() {
  int messages = 0;
  for (Query query(claims); query.next();) {
    messages += std::popcount(query.as<std::uint64_t>(0));
  }
  return static_cast<std::uint64_t>(messages);
}

std::unordered_map<delivery::PeerKey, std::uint64_t> SqliteReader::Body::sendingToPeers() {
  std::unordered_map<delivery::PeerKey, std::uint64_t> messages;
  for (Query query(claimsOfPeers); query.next();) {
    messages.emplace(query.integer(0), query.as<std::uint64_t>(1));
  }
  return messages;
}

std::optional<WallTime> SqliteReader::Body::readOldest() {
  const std::int64_t floor = counters.value(Counter::oldestKey);
  oldestKey = floor < floorSeen ? floor : std::max(oldestKey, floor);
  floorSeen = floor;
  Query query(oldest, oldestKey);
  if (!query.next()) {
    return std::nullopt;
  }
  oldestKey = query.integer(0);
  return query.instant(1);
}

// The key up to which no row is in the state of `filter`: a million dead letters in front of the oldest message that
// waits are not looked at page by page.
std::int64_t SqliteReader::Body::passedFor(const MessageFilter& filter) {
  if (filter.state != MessageState::pending && filter.state != MessageState::sent) {
    return 0;
  }
  counters.forget();
  const Stats stats = toStats(counters.values(), 0);
  return stats.pending + stats.sent != 0 && readOldest() ? oldestKey - 1 : 0;
}

std::optional<MessageInfo> SqliteReader::Body::readMessage(std::string_view messageId) {
  Query query(find, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  MessageInfo message = infoOf(query);
  message.attempts = attemptsOf(attempts, messageId);
  return message;
}

bool SqliteReader::isImmutable() const noexcept {
  return body_->isImmutable;
}

Stats SqliteReader::stats() const {
  const MutexLock lock(body_->mutex);
  int moved = 0;
  if (sqlite3_file_control(body_->database.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
      moved != 0) {
    throw Error(Errc::databaseReplaced, "the file was deleted, or another one has its name");
  }
  const Snapshot snapshot(body_->database.getHandle());
  body_->counters.forget();
  Stats stats = toStats(body_->counters.values(), body_->sending());
  if (stats.pending + stats.sending + stats.sent != 0) {
    stats.oldestPendingAt = body_->readOldest();
  }
  if (stats.oldestPendingAt) {
    stats.oldestPendingAge =
        std::max(body_->options.clock->wallNow() - *stats.oldestPendingAt, std::chrono::milliseconds(0));
  }
  body_->readSizes(stats);
  return stats;
}

// The log is asked for by its path only: opening and closing SQLite's files in this process drops its locks.
void SqliteReader::Body::readSizes(Stats& stats) {
  Query query(pages);
  query.next();
  const auto pageBytes = query.as<std::uint64_t>(2);
  stats.fileBytes = query.as<std::uint64_t>(0) * pageBytes;
  stats.freeBytes = query.as<std::uint64_t>(1) * pageBytes;
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(sqlite3_filename_wal(fileName), absent);
  stats.walBytes = absent ? 0 : bytes;
  stats.logNotBatched = knownLogDifference();
}

std::vector<PeerStats> SqliteReader::peerStats() const {
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  body_->counters.forget();
  const CounterValues totals = body_->counters.values();
  std::unordered_map<delivery::PeerKey, std::uint64_t> sending = body_->sendingToPeers();
  std::vector<PeerStats> peers;
  for (Query query(body_->peers); query.next();) {
    peers.push_back(peerStatsOf(query, totals, body_->counters, sending[query.integer(10)]));
  }
  return peers;
}

std::optional<SessionStats> SqliteReader::sessionStats(std::string_view peer, std::string_view session) const {
  const MutexLock lock(body_->mutex);
  Query query(body_->session, peer, session);
  return query.next() ? std::optional(sessionStatsOf(query)) : std::nullopt;
}

SessionPage SqliteReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const {
  requirePageLimit(limit);
  const MutexLock lock(body_->mutex);
  SessionPage page;
  std::size_t looked = 0;
  for (Query query(body_->sessions, filter.peer, filter.occupied, after, kPageLooks); query.next();) {
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

std::optional<MessageInfo> SqliteReader::find(std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  return body_->readMessage(messageId);
}

std::optional<Frame> SqliteReader::frame(std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  Query query(body_->frame, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  Frame frame;
  frame.peer = query.text(0);
  frame.session = query.text(1);
  frame.type = query.text(2);
  frame.data = query.text(3);
  frame.id = messageId;
  frame.expiresAt = query.optionalInstant(4);
  frame.traceparent = query.text(5);
  frame.correlationId = query.text(6);
  frame.notBefore = query.optionalInstant(7);
  frame.priority = query.as<std::uint8_t>(8);
  frame.supersedeKey = query.text(9);
  return frame;
}

std::vector<std::int64_t> SqliteReader::processIds() const {
  const MutexLock lock(body_->mutex);
  const std::filesystem::path sidecar = ownersFile(body_->database.getHandle(), body_->options.tablePrefix);
  std::vector<std::int64_t> live;
  Query query(body_->owners);
  while (query.next()) {
    if (ownerLives(sidecar, query.integer(0))) {
      live.push_back(query.integer(1));
    }
  }
  return live;
}

FileInfo SqliteReader::fileInfo() const {
  const MutexLock lock(body_->mutex);
  sqlite3* const connection = body_->database.getHandle();
  const Snapshot snapshot(connection);
  FileInfo info;
  SchemaInfo schema = schemaInfo(connection, body_->options.tablePrefix);
  info.schemaVersion = schema.version;
  info.writtenBy = std::move(schema.writtenBy);
  // Once, for people: no statement is kept for it. Of the outbox and the inbox, the newest row alone, which is the
  // last.
  Statement select(connection,
                   "SELECT m.origin,m.epoch,max(coalesce((SELECT created_at_ms FROM #outbox ORDER BY id DESC LIMIT 1),"
                   "0),coalesce((SELECT accepted_at_ms FROM #inbox ORDER BY id DESC LIMIT 1),0),"
                   "c.last_acked_at_ms,coalesce((SELECT max(opened_at_ms) FROM #owners),0),coalesce((SELECT "
                   "max(changed_at_ms) FROM #peers),0)) FROM #meta AS m CROSS JOIN #counters AS c",
                   body_->options.tablePrefix);
  if (Query query(select); query.next()) {
    info.origin = query.text(0);
    info.epoch = query.as<std::uint64_t>(1);
    info.newestAt = query.integer(2) == 0 ? std::nullopt : std::optional(query.instant(2));
  }
  info.ownersFile = ownersFile(connection, body_->options.tablePrefix);
  info.notes = notesOf(connection, body_->options.tablePrefix);
  info.sqliteVersion = sqlite3_libversion();
  info.hasCheckpointDefect = hasCheckpointDefect();
  info.logNotBatched = knownLogDifference();
  return info;
}

DeadLetterPage SqliteReader::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(body_->mutex);
  return body_->messagePages.deadLetters(filter, limit, after);
}

std::vector<MessageInfo> SqliteReader::newestDeadLetters(std::size_t limit) const {
  const MutexLock lock(body_->mutex);
  return body_->messagePages.newestDeadLetters(limit);
}

StoredPage SqliteReader::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                           std::int64_t after) const {
  const MutexLock lock(body_->mutex);
  return body_->messagePages.storedDeadLetters(filter, limit, after);
}

MessagePage SqliteReader::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  return body_->messagePages.messages(filter, limit, std::max(after, body_->passedFor(filter)));
}

StoredPage SqliteReader::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(body_->mutex);
  return body_->messagePages.storedMessages(filter, limit, after);
}

std::vector<KeyedStatus> SqliteReader::peers() const {
  const MutexLock lock(body_->mutex);
  return body_->status.peers();
}

std::vector<BlockedSession> SqliteReader::blockedSessions(std::size_t limit) const {
  if (limit < 1 || limit > kPageLooks) {
    throw OptionError("limit", "is " + std::to_string(limit), "1 to 10000");
  }
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  return body_->status.blocked(limit);
}

std::vector<InboundSenderStats> SqliteReader::inboundSenders(std::size_t limit) const {
  requirePageLimit(limit);
  const MutexLock lock(body_->mutex);
  std::vector<InboundSenderStats> senders;
  for (Query query(body_->senders, limit); query.next();) {
    senders.push_back({query.text(0), query.as<std::uint64_t>(1), query.as<std::uint64_t>(2),
                       query.as<std::uint64_t>(3), query.as<std::uint64_t>(4), query.as<std::uint64_t>(5),
                       query.as<std::uint64_t>(6)});
  }
  return senders;
}

std::vector<InboundOriginStats> SqliteReader::inboundOrigins(std::string_view source, std::size_t limit) const {
  requirePageLimit(limit);
  const MutexLock lock(body_->mutex);
  std::vector<InboundOriginStats> origins;
  for (Query query(body_->origins, source, limit); query.next();) {
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

std::optional<Explanation> SqliteReader::explain(std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  std::optional<MessageInfo> message = body_->readMessage(messageId);
  if (!message) {
    return std::nullopt;
  }
  body_->counters.forget();
  body_->readOldest();
  Explanation explanation;
  explanation.reasons = body_->explainer.reasons(*message, body_->oldestKey);
  explanation.message = std::move(*message);
  return explanation;
}

InboxPage SqliteReader::inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(body_->mutex);
  return body_->inboxReader.page(filter, limit, after);
}

UnattendedFrames SqliteReader::unattendedFrames() const {
  const MutexLock lock(body_->mutex);
  return body_->inboxReader.unattended();
}

std::vector<Application> SqliteReader::applications() const {
  const MutexLock lock(body_->mutex);
  return body_->inboxReader.applications();
}

std::optional<InboxInfo> SqliteReader::findInbox(std::string_view source, std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  return body_->inboxReader.find(source, messageId);
}

std::optional<InboundFrame> SqliteReader::inboxFrame(std::string_view source, std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  return body_->inboxReader.frame(source, messageId);
}

std::vector<std::string> SqliteReader::inboxSources(std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  return body_->inboxReader.sources(messageId);
}

std::optional<InboxExplanation> SqliteReader::explainInbox(std::string_view source, std::string_view messageId) const {
  const MutexLock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  return body_->inboxReader.explain(source, messageId);
}

}  // namespace ackbox::store::sqlite
