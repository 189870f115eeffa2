#include "store/postgres/read/reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.hpp"
#include "base/options.hpp"
#include "store/postgres/counts.hpp"
#include "store/postgres/durability.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/postgres/read/explainer.hpp"
#include "store/postgres/read/inbox_reader.hpp"
#include "store/postgres/read/message_pages.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/rules.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

constexpr std::string_view kIsPeerShown =
    "(p.removed_at_ms=0 OR EXISTS(SELECT 1 FROM #sessions AS s JOIN #outbox AS o "
    "ON o.session_id=s.id WHERE s.peer_id=p.id))";

OutboxOptions readable(OutboxOptions options) {
  // Nothing may be created, even if the options allow it.
  options.createSchema = false;
  return validated(std::move(options));
}

std::optional<WallTime> instantOrNothing(const Row& row, int column) {
  return row.integer(column) == 0 ? std::nullopt : std::optional(row.instant(column));
}

std::string sessionSelect() {
  return "SELECT p.name,s.name,(SELECT count(*) FROM #outbox AS o WHERE o.session_id=s.id AND o.sequence>0 AND o.state "
         "IN (0,2)) AS live,(SELECT count(*) FROM #outbox AS o WHERE o.session_id=s.id AND o.sequence>0 AND o.state=4) "
         "AS failed,greatest(m.last_sequence,coalesce((SELECT max(o.sequence) FROM #outbox AS o WHERE "
         "o.session_id=s.id AND o.sequence>0),0)),m.previous_sequence,EXISTS(SELECT 1 FROM #claims AS c WHERE "
         "c.id=-s.id),m.due_at_ms,m.paused_at_ms,m.blocked_at_ms,s.id FROM #sessions AS s JOIN #session_states AS m ON "
         "m.session_id=s.id JOIN #peers AS p ON p.id=s.peer_id WHERE s.lane=0 AND ";
}

SessionStats sessionStatsOf(const Row& row) {
  SessionStats stats;
  stats.peer = row.text(0);
  stats.session = row.text(1);
  stats.live = row.as<std::uint64_t>(2);
  stats.failed = row.as<std::uint64_t>(3);
  stats.lastSequence = row.as<std::uint64_t>(4);
  stats.acceptedSequence = row.as<std::uint64_t>(5);
  stats.inFlight = row.integer(6) != 0 && stats.live != 0;
  stats.dueAt = instantOrNothing(row, 7);
  stats.pausedAt = instantOrNothing(row, 8);
  stats.blockedAt = instantOrNothing(row, 9);
  return stats;
}

}  // namespace

struct PostgresReader::Impl {
  Impl(const std::string& givenLocation, const OutboxOptions& givenOptions, PeerLookup peers)
      : location(givenLocation),
        options(readable(givenOptions)),
        connection(location),
        pages(connection, options),
        explainer(connection, options, std::move(peers)),
        inboxReader(connection, options) {
    limitWaits();
    makeSchema(connection, options, schema);
  }

  /// One snapshot for all that `read` reads.
  template <typename Read>
  auto inSnapshot(const Read& read) {
    const MutexLock lock(mutex);
    begin();
    try {
      auto found = read();
      connection.execute("COMMIT");
      return found;
    } catch (...) {
      if (!connection.isLost() && connection.inTransaction()) {
        connection.execute("ROLLBACK");
      }
      throw;
    }
  }

  // Nothing waits for a migration for longer.
  void limitWaits() { connection.execute(setLockWait("", options.busyTimeout)); }

  // A server that has gone is found out by the first statement.
  void begin() ACKBOX_REQUIRES(mutex) {
    for (bool isSecond = connection.isLost();; isSecond = true) {
      if (connection.isLost()) {
        connection.reconnect();
        limitWaits();
      }
      try {
        connection.post("BEGIN ISOLATION LEVEL REPEATABLE READ");
        requireFit(versionInTransaction(connection), schema);
        return;
      } catch (const Error& error) {
        const bool isLost = connection.isLost();
        if (!isLost && connection.inTransaction()) {
          connection.execute("ROLLBACK");
        }
        // The snapshot may be of before a migration that it has waited for.
        if (isSecond || !(isLost || error.code() == Errc::databaseBusy)) {
          throw;
        }
      }
    }
  }

  // Constant after construction.
  const std::string location;
  const OutboxOptions options;
  const Schema& schema = currentSchema();

  Mutex mutex;
  Connection connection;
  MessagePages pages;
  Explainer explainer;
  InboxReader inboxReader;
};

PostgresReader::PostgresReader(const std::string& location, const OutboxOptions& options, PeerLookup peers)
    : impl_(std::make_unique<Impl>(location, options, std::move(peers))) {}

PostgresReader::~PostgresReader() = default;

Stats PostgresReader::stats() const {
  return impl_->inSnapshot([this] {
    static const std::string kSelect =
        "SELECT " + sumsOfCounts() + ",(SELECT coalesce(sum(cardinality(keys)),0) FROM #claims) FROM #counts";
    Connection& connection = impl_->connection;
    const Result sums = connection.run(kSelect);
    Stats stats = toStats(countsOf(sums.front(), 0), sums.front().as<std::uint64_t>(static_cast<int>(kCounts)));
    if (stats.pending + stats.sending + stats.sent != 0) {
      const Result oldest =
          connection.run("SELECT created_at_ms FROM #outbox WHERE state IN (0,2) ORDER BY id LIMIT 1");
      if (!oldest.empty()) {
        stats.oldestPendingAt = oldest.front().instant(0);
        stats.oldestPendingAge =
            std::max(impl_->options.clock->wallNow() - *stats.oldestPendingAt, std::chrono::milliseconds(0));
      }
    }
    stats.fileBytes = connection.run("SELECT pg_database_size(current_database())").front().as<std::uint64_t>(0);
    return stats;
  });
}

std::vector<PeerStats> PostgresReader::peerStats() const {
  return impl_->inSnapshot([this] {
    static const std::string kCountsOfPeers =
        "SELECT peer_id," + sumsOfCounts() + " FROM #counts WHERE peer_id<>0 GROUP BY peer_id";
    Connection& connection = impl_->connection;
    std::map<delivery::PeerKey, CountValues> counts;
    for (const Row& row : connection.run(kCountsOfPeers)) {
      counts.emplace(row.integer(0), countsOf(row, 1));
    }
    std::map<delivery::PeerKey, std::uint64_t> sending;
    for (const Row& row :
         connection.run("SELECT s.peer_id,count(*) FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id WHERE "
                        "o.id=ANY(ARRAY(SELECT unnest(keys) FROM #claims)) GROUP BY s.peer_id")) {
      sending.emplace(row.integer(0), row.as<std::uint64_t>(1));
    }
    static const std::string kPeers =
        "SELECT p.id,p.name,p.down,p.failures,p.down_since_ms,p.next_probe_at_ms,p.last_error,p.store,p.resets,"
        "p.reset_at_ms,p.resent,p.unattended_since_ms,p.unattended_type FROM #peers AS p WHERE " +
        std::string(kIsPeerShown) + " ORDER BY p.id";
    std::vector<PeerStats> peers;
    for (const Row& row : connection.run(kPeers)) {
      PeerStats& stats = peers.emplace_back();
      fillIn(stats, counts[row.integer(0)], sending[row.integer(0)]);
      stats.peer = row.text(1);
      stats.down = row.integer(2) != 0;
      stats.failures = row.as<std::uint64_t>(3);
      if (stats.down) {
        stats.downSince = row.instant(4);
        stats.nextProbeAt = row.instant(5);
      }
      stats.lastError = row.text(6);
      stats.store = row.text(7);
      stats.resets = row.as<std::uint64_t>(8);
      stats.lastResetAt = instantOrNothing(row, 9);
      stats.resent = row.as<std::uint64_t>(10);
      if (stats.sent != 0 && row.integer(11) != 0) {
        stats.unattendedSince = row.instant(11);
        stats.unattendedType = row.text(12);
      }
    }
    return peers;
  });
}

std::optional<SessionStats> PostgresReader::sessionStats(std::string_view peer, std::string_view session) const {
  return impl_->inSnapshot([&] {
    static const std::string kSelect = sessionSelect() + "p.name=$1 AND s.name=$2";
    const Result result = impl_->connection.run(kSelect, peer, session);
    return result.empty() ? std::nullopt : std::optional(sessionStatsOf(result.front()));
  });
}

SessionPage PostgresReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const {
  requirePageLimit(limit);
  return impl_->inSnapshot([&] {
    static const std::string kSelect =
        sessionSelect() +
        "s.id>$1::bigint AND ($2::text IS NULL OR p.name=$2) AND (NOT $3::boolean OR m.paused_at_ms<>0 OR EXISTS("
        "SELECT 1 FROM #outbox AS o WHERE o.session_id=s.id AND o.sequence>0 AND o.state<>3)) ORDER BY s.id LIMIT "
        "$4::bigint";
    SessionPage page;
    for (const Row& row : impl_->connection.run(kSelect, after, filter.peer, filter.occupied, limit)) {
      page.sessions.push_back(sessionStatsOf(row));
      if (page.sessions.size() == limit) {
        page.next = row.integer(10);
      }
    }
    return page;
  });
}

std::optional<MessageInfo> PostgresReader::find(std::string_view messageId) const {
  return impl_->inSnapshot([&] { return impl_->pages.find(messageId); });
}

std::optional<Frame> PostgresReader::frame(std::string_view messageId) const {
  return impl_->inSnapshot([&] { return impl_->pages.frame(messageId); });
}

std::vector<std::string> PostgresReader::idsOfKey(std::string_view key, std::size_t limit) const {
  requirePageLimit(limit);
  return impl_->inSnapshot([&] {
    std::vector<std::string> ids;
    for (const Row& row : impl_->connection.run(
             "SELECT message_id FROM (SELECT message_id,position FROM #publications WHERE key=$1 UNION ALL SELECT "
             "message_id,0 FROM #idempotency_keys WHERE key=$1 AND peer_id<>0) AS m ORDER BY position LIMIT $2",
             key, limit)) {
      ids.push_back(row.text(0));
    }
    return ids;
  });
}

MessagePage PostgresReader::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  return impl_->inSnapshot([&] { return impl_->pages.messages(filter, limit, after); });
}

DeadLetterPage PostgresReader::deadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                           std::int64_t after) const {
  return impl_->inSnapshot([&] { return impl_->pages.deadLetters(filter, limit, after); });
}

std::vector<MessageInfo> PostgresReader::newestDeadLetters(std::size_t limit) const {
  return impl_->inSnapshot([&] { return impl_->pages.newestDeadLetters(limit); });
}

std::vector<KeyedStatus> PostgresReader::peers() const {
  return impl_->inSnapshot([this] {
    static const std::string kSelect =
        "SELECT p.id,p.name,p.down,p.hold,p.failures,p.next_probe_at_ms,p.last_error,p.changed_at_ms,p.paused_at_ms,"
        "p.definition,p.removed_at_ms<>0 FROM #peers AS p WHERE " +
        std::string(kIsPeerShown) + " ORDER BY p.name";
    std::vector<KeyedStatus> found;
    for (const Row& row : impl_->connection.run(kSelect)) {
      KeyedStatus& peer = found.emplace_back();
      delivery::PeerRecord record;
      WallTime changedAt;
      WallTime pausedAt;
      Columns columns(row);
      columns >> peer.key >> peer.status.name >> record.down >> record.hold >> peer.status.failures >>
          peer.status.nextProbeAt >> peer.status.lastError >> changedAt >> pausedAt >> peer.status.definition >>
          peer.status.isRemoved;
      peer.status.state = delivery::stateOf(record, pausedAt != WallTime{});
      peer.status.since = pausedAt != WallTime{} ? pausedAt : changedAt;
    }
    return found;
  });
}

std::vector<PeerSubscription> PostgresReader::subscriptions() const {
  return impl_->inSnapshot([this] {
    std::vector<PeerSubscription> found;
    for (const Row& row : impl_->connection.run("SELECT s.name,p.name,s.type,s.session,s.since_at_ms FROM "
                                                "#subscriptions AS s JOIN #peers AS p ON p.id=s.peer_id ORDER BY "
                                                "s.name")) {
      found.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.instant(4)});
    }
    return found;
  });
}

std::vector<BlockedSession> PostgresReader::blockedSessions(std::size_t limit) const {
  requirePageLimit(limit);
  return impl_->inSnapshot([&] {
    std::vector<BlockedSession> found;
    for (const Row& row : impl_->connection.run(
             "SELECT p.name,s.name,m.blocked_at_ms,(SELECT count(*) FROM #outbox AS w WHERE w.session_id=s.id AND "
             "w.state IN (0,2)),o.message_id,o.sequence,coalesce(o.reason,''),coalesce(o.last_error,'') FROM "
             "#session_states AS m JOIN #sessions AS s ON s.id=m.session_id JOIN #peers AS p ON p.id=s.peer_id JOIN "
             "#outbox AS o ON o.id=m.blocked_by WHERE m.blocked_by<>0 ORDER BY m.blocked_by LIMIT $1",
             limit)) {
      BlockedSession& blocked = found.emplace_back();
      Columns columns(row);
      columns >> blocked.peer >> blocked.session >> blocked.since >> blocked.waiting >> blocked.messageId >>
          blocked.sequence >> blocked.reason >> blocked.lastError;
    }
    return found;
  });
}

StoredPage PostgresReader::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                             std::int64_t after) const {
  return impl_->inSnapshot([&] { return impl_->pages.storedDeadLetters(filter, limit, after); });
}

StoredPage PostgresReader::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  return impl_->inSnapshot([&] { return impl_->pages.storedMessages(filter, limit, after); });
}

std::vector<InboundSenderStats> PostgresReader::inboundSenders(std::size_t limit) const {
  requirePageLimit(limit);
  return impl_->inSnapshot([&] {
    std::vector<InboundSenderStats> senders;
    for (const Row& row : impl_->connection.run(
             "SELECT source,sum(sessions),sum(origins),sum(marks),sum(bytes),sum(inbox),sum(inbox_bytes) FROM "
             "#sender_shares GROUP BY source HAVING sum(bytes)<>0 OR sum(inbox)<>0 ORDER BY "
             "sum(bytes)+sum(inbox_bytes) "
             "DESC, source LIMIT $1",
             limit)) {
      InboundSenderStats& sender = senders.emplace_back();
      Columns columns(row);
      columns >> sender.source >> sender.sessions >> sender.origins >> sender.marks >> sender.bytes >> sender.inbox >>
          sender.inboxBytes;
    }
    return senders;
  });
}

std::vector<InboundOriginStats> PostgresReader::inboundOrigins(std::string_view source, std::size_t limit) const {
  requirePageLimit(limit);
  return impl_->inSnapshot([&] {
    std::vector<InboundOriginStats> origins;
    for (const Row& row : impl_->connection.run(
             "SELECT origin,epoch,(SELECT count(*) FROM #inbound_sessions AS s WHERE s.source=o.source AND "
             "s.origin=o.origin),state<>0,began_at_ms,seen_at_ms FROM #inbound_origins AS o WHERE source=$1 ORDER BY "
             "seen_at_ms DESC, origin LIMIT $2",
             source, limit)) {
      InboundOriginStats& origin = origins.emplace_back();
      Columns columns(row);
      columns >> origin.origin >> origin.epoch >> origin.sessions >> origin.isClosed >> origin.beganAt >> origin.seenAt;
    }
    return origins;
  });
}

std::optional<Explanation> PostgresReader::explain(std::string_view messageId) const {
  return impl_->inSnapshot([&]() -> std::optional<Explanation> {
    std::optional<MessageInfo> message = impl_->pages.find(messageId);
    if (!message) {
      return std::nullopt;
    }
    Explanation explanation;
    explanation.reasons = impl_->explainer.reasons(*message);
    explanation.message = std::move(*message);
    return explanation;
  });
}

InboxPage PostgresReader::inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const {
  return impl_->inSnapshot([&] { return impl_->inboxReader.page(filter, limit, after); });
}

UnattendedFrames PostgresReader::unattendedFrames() const {
  return impl_->inSnapshot([this] { return impl_->inboxReader.unattended(); });
}

std::vector<Application> PostgresReader::applications() const {
  return impl_->inSnapshot([this] { return impl_->inboxReader.applications(); });
}

std::optional<InboxInfo> PostgresReader::findInbox(std::string_view source, std::string_view messageId,
                                                   std::int64_t row) const {
  return impl_->inSnapshot([&] { return impl_->inboxReader.find(source, messageId, row); });
}

std::optional<InboundFrame> PostgresReader::inboxFrame(std::string_view source, std::string_view messageId,
                                                       std::int64_t row) const {
  return impl_->inSnapshot([&] { return impl_->inboxReader.frame(source, messageId, row); });
}

std::vector<std::string> PostgresReader::inboxSources(std::string_view messageId) const {
  return impl_->inSnapshot([&] { return impl_->inboxReader.sources(messageId); });
}

std::optional<InboxExplanation> PostgresReader::explainInbox(std::string_view source, std::string_view messageId,
                                                             std::int64_t row) const {
  return impl_->inSnapshot([&] { return impl_->inboxReader.explain(source, messageId, row); });
}

std::vector<std::int64_t> PostgresReader::processIds() const {
  return impl_->inSnapshot(
      [this] { return impl_->connection.run("SELECT pid FROM #owners WHERE #lives(id) ORDER BY id").integers(); });
}

FileInfo PostgresReader::fileInfo() const {
  return impl_->inSnapshot([this] {
    FileInfo info;
    const Result result = impl_->connection.run(
        "SELECT version,written_by,origin,epoch,greatest(coalesce((SELECT created_at_ms FROM #outbox ORDER BY id DESC "
        "LIMIT 1),0),coalesce((SELECT accepted_at_ms FROM #inbox ORDER BY id DESC LIMIT 1),0),coalesce((SELECT "
        "max(last_acked_at_ms) FROM #counts),0),coalesce((SELECT max(opened_at_ms) FROM #owners),0),coalesce((SELECT "
        "max(changed_at_ms) FROM #peers),0)),current_setting('server_version') FROM #schema,#meta");
    if (!result.empty()) {
      const Row row = result.front();
      info.schemaVersion = row.integer(0);
      info.writtenBy = row.text(1);
      info.origin = row.text(2);
      info.epoch = row.as<std::uint64_t>(3);
      info.newestAt = instantOrNothing(row, 4);
      info.serverVersion = row.text(5);
      info.notDurable = whyNotDurable(impl_->connection);
    }
    return info;
  });
}

VerifyReport PostgresReader::verify() const {
  Connection connection(impl_->location);
  connection.execute(setLockWait("", impl_->options.busyTimeout));
  connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  requireFit(versionInTransaction(connection), impl_->schema);
  const auto count = [&connection](std::string_view sql) {
    return connection.execute(sql).front().as<std::uint64_t>(0);
  };
  VerifyReport report;
  report.messages = count("SELECT count(*) FROM #outbox");
  report.sessions = count("SELECT count(*) FROM #sessions");
  report.peers = count("SELECT count(*) FROM #peers");
  report.findings = findingsOf(connection, Rules::all);
  connection.execute("COMMIT");
  return report;
}

void PostgresReader::backUp(const std::filesystem::path& /*to*/,
                            const std::function<void(std::uint64_t done, std::uint64_t of)>& /*progress*/) const {
  throw Error(Errc::cannotOpen, "a store in PostgreSQL is copied by pg_dump or pg_basebackup");
}

}  // namespace ackbox::store::postgres
