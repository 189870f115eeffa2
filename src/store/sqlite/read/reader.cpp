#include "store/sqlite/read/reader.hpp"

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"
#include "base/options.hpp"
#include "sqlite/backup.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/wal/log_check.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/inbox_reader.hpp"
#include "store/sqlite/read/message_pages.hpp"
#include "store/sqlite/read/message_reader.hpp"
#include "store/sqlite/read/stats_reader.hpp"
#include "store/sqlite/read/status.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store/sqlite/schema/notes.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

void requireOutbox(const std::filesystem::path& file, const OutboxOptions& options) {
  const ReadConnection database(file, options);
  // Nothing may be created, even if the options allow it.
  requireUsable(database.getHandle(), options.tablePrefix, false);
}

struct SqliteReader::Impl {
  Impl(const std::filesystem::path& givenFile, const OutboxOptions& givenOptions, PeerLookup peers)
      : file(givenFile),
        options(validated(givenOptions)),
        database(file, options),
        messages(database.getHandle(), options, std::move(peers)),
        frame(database.getHandle(),
              "SELECT p.name,s.name,o.type,o.data,o.expires_at_ms,o.traceparent,o.correlation_id,"
              "o.not_before_ms,s.priority,o.supersede_key,o.resent_of FROM #outbox AS o "
              "JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE o.id=" +
                  keyOfMessage(),
              options.tablePrefix),
        messagePages(database.getHandle(), options),
        stats(database.getHandle(), options),
        inboxReader(database.getHandle(), options),
        status(database.getHandle(), options.tablePrefix) {}

  // Constant after construction.
  const std::filesystem::path file;
  const OutboxOptions options;

  Mutex mutex;
  ReadConnection database ACKBOX_GUARDED_BY(mutex);
  MessageReader messages ACKBOX_GUARDED_BY(mutex);
  Statement frame ACKBOX_GUARDED_BY(mutex);
  MessagePages messagePages ACKBOX_GUARDED_BY(mutex);
  StatsReader stats ACKBOX_GUARDED_BY(mutex);
  InboxReader inboxReader ACKBOX_GUARDED_BY(mutex);
  StatusReader status ACKBOX_GUARDED_BY(mutex);
};

SqliteReader::SqliteReader(const std::filesystem::path& file, const OutboxOptions& options, PeerLookup peers)
    : impl_(std::make_unique<Impl>(file, options, std::move(peers))) {}

SqliteReader::~SqliteReader() = default;

bool SqliteReader::isOutdated() const {
  const MutexLock lock(impl_->mutex);
  return impl_->database.isOutdated();
}

Stats SqliteReader::stats() const {
  const MutexLock lock(impl_->mutex);
  int moved = 0;
  if (sqlite3_file_control(impl_->database.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
      moved != 0) {
    throw Error(Errc::databaseReplaced, "the file was deleted, or another one has its name");
  }
  const Snapshot snapshot(impl_->database.getHandle());
  Stats stats = impl_->stats.stats();
  stats.logNotBatched = knownLogDifference();
  return stats;
}

std::vector<PeerStats> SqliteReader::peerStats() const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->stats.peers();
}

std::optional<SessionStats> SqliteReader::sessionStats(std::string_view peer, std::string_view session) const {
  const MutexLock lock(impl_->mutex);
  return impl_->stats.session(peer, session);
}

SessionPage SqliteReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const {
  requirePageLimit(limit);
  const MutexLock lock(impl_->mutex);
  return impl_->stats.sessions(filter, limit, after);
}

std::vector<InboundSenderStats> SqliteReader::inboundSenders(std::size_t limit) const {
  requirePageLimit(limit);
  const MutexLock lock(impl_->mutex);
  return impl_->stats.senders(limit);
}

std::vector<InboundOriginStats> SqliteReader::inboundOrigins(std::string_view source, std::size_t limit) const {
  requirePageLimit(limit);
  const MutexLock lock(impl_->mutex);
  return impl_->stats.origins(source, limit);
}

std::optional<MessageInfo> SqliteReader::find(std::string_view messageId) const {
  const MutexLock lock(impl_->mutex);
  return impl_->messages.find(messageId);
}

std::optional<Frame> SqliteReader::frame(std::string_view messageId) const {
  const MutexLock lock(impl_->mutex);
  Query query(impl_->frame, messageId);
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
  frame.resentOf = query.text(10);
  return frame;
}

std::vector<std::int64_t> SqliteReader::processIds() const {
  const MutexLock lock(impl_->mutex);
  return impl_->messages.processIds();
}

VerifyReport SqliteReader::verify() const {
  return sqlite::verify(impl_->file, impl_->options);
}

void SqliteReader::backUp(const std::filesystem::path& to,
                          const std::function<void(std::uint64_t done, std::uint64_t of)>& progress) const {
  ackbox::sqlite::backUp(impl_->file, to, impl_->options, progress);
}

FileInfo SqliteReader::fileInfo() const {
  const MutexLock lock(impl_->mutex);
  sqlite3* const connection = impl_->database.getHandle();
  const Snapshot snapshot(connection);
  FileInfo info;
  SchemaInfo schema = schemaInfo(connection, impl_->options.tablePrefix);
  info.schemaVersion = schema.version;
  info.writtenBy = std::move(schema.writtenBy);
  // Runs rarely, for an operator, so the statement is not kept. Reads only the newest row of the outbox and of the
  // inbox, which is the last.
  Statement select(connection,
                   "SELECT m.origin,m.epoch,max(coalesce((SELECT created_at_ms FROM #outbox ORDER BY id DESC LIMIT 1),"
                   "0),coalesce((SELECT accepted_at_ms FROM #inbox ORDER BY id DESC LIMIT 1),0),"
                   "c.last_acked_at_ms,coalesce((SELECT max(opened_at_ms) FROM #owners),0),coalesce((SELECT "
                   "max(changed_at_ms) FROM #peers),0)) FROM #meta AS m CROSS JOIN #counters AS c",
                   impl_->options.tablePrefix);
  if (Query query(select); query.next()) {
    info.origin = query.text(0);
    info.epoch = query.as<std::uint64_t>(1);
    info.newestAt = query.integer(2) == 0 ? std::nullopt : std::optional(query.instant(2));
  }
  info.ownersFile = ownersFile(connection, impl_->options.tablePrefix);
  info.notes = notesOf(connection, impl_->options.tablePrefix);
  info.sqliteVersion = sqlite3_libversion();
  info.hasCheckpointDefect = hasCheckpointDefect();
  info.logNotBatched = knownLogDifference();
  return info;
}

DeadLetterPage SqliteReader::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(impl_->mutex);
  return impl_->messagePages.deadLetters(filter, limit, after);
}

std::vector<MessageInfo> SqliteReader::newestDeadLetters(std::size_t limit) const {
  const MutexLock lock(impl_->mutex);
  return impl_->messagePages.newestDeadLetters(limit);
}

StoredPage SqliteReader::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                           std::int64_t after) const {
  const MutexLock lock(impl_->mutex);
  return impl_->messagePages.storedDeadLetters(filter, limit, after);
}

std::vector<std::string> SqliteReader::idsOfKey(std::string_view key, std::size_t limit) const {
  requirePageLimit(limit);
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->messagePages.idsOfKey(key, limit);
}

MessagePage SqliteReader::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  const std::int64_t from = filter.isNewestFirst ? after : std::max(after, impl_->stats.passedFor(filter));
  return impl_->messagePages.messages(filter, limit, from);
}

StoredPage SqliteReader::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(impl_->mutex);
  return impl_->messagePages.storedMessages(filter, limit, after);
}

std::vector<KeyedStatus> SqliteReader::peers() const {
  const MutexLock lock(impl_->mutex);
  return impl_->status.peers();
}

std::vector<PeerSubscription> SqliteReader::subscriptions() const {
  const MutexLock lock(impl_->mutex);
  return impl_->status.subscriptions();
}

std::vector<BlockedSession> SqliteReader::blockedSessions(std::size_t limit) const {
  if (limit < 1 || limit > kPageLooks) {
    throw OptionError("limit", "is " + std::to_string(limit), "1 to 10000");
  }
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->status.blocked(limit);
}

std::optional<Explanation> SqliteReader::explain(std::string_view messageId) const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->messages.explain(messageId, impl_->stats);
}

InboxPage SqliteReader::inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->inboxReader.page(filter, limit, after);
}

UnattendedFrames SqliteReader::unattendedFrames() const {
  const MutexLock lock(impl_->mutex);
  return impl_->inboxReader.unattended();
}

std::vector<Application> SqliteReader::applications() const {
  const MutexLock lock(impl_->mutex);
  return impl_->inboxReader.applications();
}

std::optional<InboxInfo> SqliteReader::findInbox(std::string_view source, std::string_view messageId,
                                                 std::int64_t row) const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->inboxReader.find(source, messageId, row);
}

std::optional<InboundFrame> SqliteReader::inboxFrame(std::string_view source, std::string_view messageId,
                                                     std::int64_t row) const {
  const MutexLock lock(impl_->mutex);
  return impl_->inboxReader.frame(source, messageId, row);
}

std::vector<std::string> SqliteReader::inboxSources(std::string_view messageId) const {
  const MutexLock lock(impl_->mutex);
  return impl_->inboxReader.sources(messageId);
}

std::optional<InboxExplanation> SqliteReader::explainInbox(std::string_view source, std::string_view messageId,
                                                           std::int64_t row) const {
  const MutexLock lock(impl_->mutex);
  const Snapshot snapshot(impl_->database.getHandle());
  return impl_->inboxReader.explain(source, messageId, row);
}

}  // namespace ackbox::store::sqlite
