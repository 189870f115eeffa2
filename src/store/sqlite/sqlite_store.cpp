#include "store/sqlite/sqlite_store.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>

#include "base/options.hpp"
#include "sqlite/transaction.hpp"
#include "sqlite/wal/log_tail.hpp"
#include "store/failure.hpp"
#include "store/sqlite/components.hpp"
#include "store/sqlite/log_keeper.hpp"
#include "store/sqlite/outbound/handler_outbox.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/schema/new_store.hpp"
#include "store/sqlite/schema/notes.hpp"
#include "store/sqlite/schema/recount.hpp"
#include "store/sqlite/schema/rules.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

void requireWritable(sqlite3* connection, const OutboxOptions& options) {
  requireUsable(connection, options.tablePrefix, options.createSchema);
  refuseOthersOfOurNames(connection, options.tablePrefix);
}

}  // namespace

struct SqliteStore::Impl {
  explicit Impl(const StoreOptions& storeOptions);

  void open();
  void openFirst();
  void load();
  void readEpoch();
  [[noreturn]] void throwReplaced(const char* why);
  void noteLook();
  void recount(RepairReport& report);

  // Constant after construction, but for the peers that are added to the file (`Peers`).
  OutboxOptions options;
  Connection connection;
  const std::shared_ptr<Liveness> liveness;
  LogKeeper logKeeper;
  Transaction transaction;
  LatencyWindow latencies;
  std::unique_ptr<Components> parts;
  std::optional<HandlerOutbox> handlerOutbox;
  std::string origin;
  OpeningLook look;

  // As of the last `begin`.
  std::uint64_t epoch = 0;
  // Foreign code runs: `handlerOutbox` is the outbox.
  bool isGuarded = false;
  // As of the last commit that was seen; neither value ever decreases.
  std::uint64_t epochSeen = 0;
  std::int64_t lastKeySeen = 0;
  // As of the last `begin`; any thread may read it.
  std::atomic<bool> isReplaced = false;
};

SqliteStore::Impl::Impl(const StoreOptions& storeOptions)
    : options(validated(storeOptions.outbox)),
      connection(storeOptions.file, options, [&](sqlite3* file) { requireWritable(file, options); }),
      liveness(storeOptions.liveness ? storeOptions.liveness
                                     : kernelLiveness(sqlite::ownersFile(connection.handle(), connection.prefix()),
                                                      sqlite3_db_filename(connection.handle(), "main"))),
      logKeeper(connection, options, liveness),
      transaction(connection) {}

void SqliteStore::Impl::open() {
  try {
    openFirst();
  } catch (...) {
    // The log of a dead process may fill the disk.
    if (store::errorOf(std::current_exception()) != Errc::diskFull || !logKeeper.makeRoom()) {
      throw;
    }
    // `openFirst` makes new parts.
    handlerOutbox.reset();
    parts.reset();
    openFirst();
  }
}

// Opens in one transaction, so that a crash in the middle leaves the file as it was.
void SqliteStore::Impl::openFirst() {
  transaction.begin(options.durability == Durability::powerCut);
  try {
    requireWritable(connection.handle(), options);
    look.leftOut = whatLogLeftOut(connection.handle());
    if (schemaVersion(connection.handle(), connection.prefix()) == 0) {
      // The owners file is created after the file's first page, so it shows earlier use.
      std::error_code unknown;
      const bool wasInUse =
          std::filesystem::exists(sqlite::ownersFile(connection.handle(), connection.prefix()), unknown);
      look.wasEmptied = wasInUse && connection.wasEmpty();
      look.wasMadeAnew = wasInUse && !connection.wasEmpty();
      createTables(connection.handle(), connection.prefix());
    }
    noteLook();
    restoreObjects(connection.handle(), connection.prefix(), "view");
    Statement identify = connection.prepare(
        "INSERT INTO #meta(id,origin,epoch) VALUES(1,?1,1) ON CONFLICT(id) DO UPDATE SET epoch=epoch+1");
    Query(identify, randomUuid(*options.random)).run();
    load();
    parts->peers.configure();
    parts->owners.registerSelf();
    parts->owners.releaseDead();
    logKeeper.opened(parts->owners.shared());
    parts->forward([](WriteBack& part) { part.flushAll(); });
    transaction.commit();
    parts->forward([](WriteBack& part) { part.committed(); });
  } catch (...) {
    transaction.rollback();
    logKeeper.failed();
    throw;
  }
}

// Notes the findings in the file too, in the opening's transaction, because a single log record is easily overlooked.
void SqliteStore::Impl::noteLook() {
  const WallTime now = options.clock->wallNow();
  const auto note = [&](bool isFound, std::string_view event, std::string_view text) {
    if (isFound) {
      addNote(connection.handle(), connection.prefix(), event, text, now);
    }
  };
  note(!look.leftOut.empty(), kLogCutShort, look.leftOut);
  note(look.wasEmptied, kFileWasEmpty, kFileWasEmptyText);
  note(look.wasMadeAnew, kFileMadeAnew, kFileMadeAnewText);
}

void SqliteStore::Impl::load() {
  Statement selectOrigin = connection.prepare("SELECT origin FROM #meta");
  if (Query query(selectOrigin); query.next()) {
    origin = query.text(0);
  }
  parts = std::make_unique<Components>(connection, transaction, options, liveness, latencies);
  handlerOutbox.emplace(*parts);
  parts->backward([](WriteBack& part) { part.begun(true); });
  readEpoch();
}

void SqliteStore::Impl::throwReplaced(const char* why) {
  isReplaced = true;
  throw Error(Errc::databaseReplaced, why);
}

// If a backup is written over a file in use, the caches and the discovered rows belong to another file.
void SqliteStore::Impl::readEpoch() {
  {
    Query query(parts->selectEpoch);
    query.next();
    epoch = query.as<std::uint64_t>(0);
  }
  const std::int64_t lastKey = parts->counters.writtenLastKey();
  if (epoch < epochSeen || lastKey < lastKeySeen) {
    throwReplaced("the file went back to an earlier state");
  }
  epochSeen = epoch;
  lastKeySeen = lastKey;
}

void SqliteStore::Impl::recount(RepairReport& report) {
  parts->forward([](WriteBack& part) { part.flushAll(); });
  sqlite::recount(connection.handle(), connection.prefix(), report);
  parts->backward([](WriteBack& part) { part.forget(); });
  if (report.mended != 0) {
    // There may be live rows that discovery has not returned.
    parts->peerResets.refresh();
  }
}

SqliteStore::SqliteStore(const StoreOptions& options) : impl_(std::make_unique<Impl>(options)) {
  impl_->open();
}

SqliteStore::~SqliteStore() {
  if (inTransaction()) {
    rollback();
  }
  try {
    begin(false);
    impl_->parts->owners.unregisterSelf();
    impl_->parts->forward([](WriteBack& part) { part.flushAll(); });
    commit();
  } catch (const std::exception&) {
    // The next opener finds this owner dead and does the same.
  }
}

void SqliteStore::begin(bool durable, bool patient) {
  const bool fullSync = durable && impl_->options.durability == Durability::powerCut;
  std::optional<NoBusyTimeout> noBusyTimeout;
  if (!patient) {
    noBusyTimeout.emplace(impl_->connection.handle(), impl_->options);
  }
  // A write to a file that can no longer be opened is not durable, despite a sync. Once that is known, all other
  // transactions are refused too, because one that began would report that the file is back.
  if ((durable || impl_->isReplaced) && impl_->connection.hasMoved()) {
    impl_->throwReplaced("the file was deleted, or another one has its name");
  }
  const bool isChanged = impl_->transaction.begin(fullSync);
  try {
    impl_->logKeeper.requireFit(fullSync);
    impl_->parts->backward([isChanged](WriteBack& part) { part.begun(isChanged); });
    if (isChanged) {
      impl_->readEpoch();
    }
  } catch (...) {
    rollback();
    throw;
  }
  impl_->isReplaced = false;
}

void SqliteStore::commit() {
  Components& parts = *impl_->parts;
  std::int64_t lastKey = 0;
  try {
    parts.forward([](WriteBack& part) { part.flush(); });
    if (parts.counters.isDoubtful()) {
      RepairReport report;
      impl_->recount(report);
    }
    lastKey = parts.counters.writtenLastKey();
    impl_->transaction.commit();
  } catch (...) {
    rollback();
    impl_->logKeeper.failed();
    throw;
  }
  impl_->lastKeySeen = lastKey;
  parts.forward([](WriteBack& part) { part.committed(); });
  impl_->logKeeper.committed();
}

void SqliteStore::rollback() noexcept {
  impl_->isGuarded = false;
  impl_->handlerOutbox->forget();
  impl_->transaction.rollback();
  impl_->logKeeper.roomDidNotHelp();
  // Facts that were read in the transaction, such as which processes have the file open, are read again.
  impl_->transaction.doubtVersion();
  impl_->parts->backward([](WriteBack& part) { part.rolledBack(); });
}

bool SqliteStore::inTransaction() const noexcept {
  return impl_->transaction.open();
}

bool SqliteStore::makeRoom() noexcept {
  return impl_->logKeeper.makeRoom();
}

void SqliteStore::savepoint() {
  impl_->parts->forward([](WriteBack& part) { part.scopeBegun(); });
  impl_->transaction.savepoint();
}

void SqliteStore::releaseSavepoint() {
  impl_->transaction.releaseSavepoint();
  impl_->parts->backward([](WriteBack& part) { part.scopeReleased(); });
}

void SqliteStore::rollbackToSavepoint() {
  impl_->transaction.rollbackToSavepoint();
  impl_->parts->backward([](WriteBack& part) { part.scopeUndone(); });
}

void SqliteStore::guardTransaction(bool on) {
  if (!on && impl_->isGuarded && !impl_->transaction.lost()) {
    impl_->handlerOutbox->end();
  }
  impl_->isGuarded = on;
  impl_->transaction.guard(on);
}

bool SqliteStore::transactionLost() const noexcept {
  return impl_->transaction.lost();
}

Errc SqliteStore::whyTransactionLost(const std::exception_ptr& thrown) noexcept {
  return impl_->transaction.whyLost(thrown);
}

store::Outbox& SqliteStore::outbox() noexcept {
  if (impl_->isGuarded) {
    return *impl_->handlerOutbox;
  }
  return impl_->parts->outbox;
}

store::Claims& SqliteStore::claims() noexcept {
  return impl_->parts->claims;
}

store::Settles& SqliteStore::settles() noexcept {
  return impl_->parts->settles;
}

store::DeadLetters& SqliteStore::deadLetters() noexcept {
  return impl_->parts->deadLetters;
}

store::Holds& SqliteStore::holds() noexcept {
  return impl_->parts->holds;
}

store::Peers& SqliteStore::peers() noexcept {
  return impl_->parts->peers;
}

store::Subscriptions& SqliteStore::subscriptions() noexcept {
  return impl_->parts->subscriptions;
}

store::PeerResets& SqliteStore::peerResets() noexcept {
  return impl_->parts->peerResets;
}

store::InboundMarks& SqliteStore::inboundMarks() noexcept {
  return impl_->parts->marks;
}

store::Inbox& SqliteStore::inbox() noexcept {
  return impl_->parts->inbox;
}

store::Discovery& SqliteStore::discovery() noexcept {
  return impl_->parts->discovery;
}

store::Owners& SqliteStore::owners() noexcept {
  return impl_->parts->owners;
}

Fill SqliteStore::fill() {
  Counters& counters = impl_->parts->counters;
  return {counters.live(), counters.liveBytes()};
}

// All counts are written first: with the second peer, each peer begins to have counts of its own.
std::optional<bool> SqliteStore::addPeer(const PeerOptions& peer, std::string_view definition) {
  impl_->parts->forward([](WriteBack& part) { part.flushAll(); });
  return impl_->parts->peers.define(peer, definition);
}

PeerRemoval SqliteStore::removePeer(std::string_view name, WaitingMessages waiting) {
  impl_->parts->forward([](WriteBack& part) { part.flushAll(); });
  PeerRemoval removal = impl_->parts->peers.remove(name, waiting);
  if (removal.isRemoved) {
    removal.subscriptions = impl_->parts->subscriptions.removeOfRemoved();
  }
  return removal;
}

RepairReport SqliteStore::repair() {
  RepairReport report;
  impl_->parts->forward([](WriteBack& part) { part.flushAll(); });
  mendRows(impl_->connection.handle(), impl_->connection.prefix(), report);
  impl_->parts->backward([](WriteBack& part) { part.forget(); });
  impl_->recount(report);
  // Other work may follow in this transaction: what it appends is not to be caught up with as rows of others.
  impl_->parts->lazyRows.begun(false);
  dropNotes(impl_->connection.handle(), impl_->connection.prefix());
  impl_->parts->holds.refresh();
  return report;
}

FileRepairReport SqliteStore::repairFile(const StoreOptions& options, bool isRehearsal) {
  Impl impl(options);
  sqlite3* const connection = impl.connection.handle();
  const std::string& prefix = impl.connection.prefix();
  FileRepairReport report;
  impl.transaction.begin(impl.options.durability == Durability::powerCut);
  try {
    requireWritable(connection, impl.options);
    if (!isRehearsal) {
      impl.logKeeper.requireFit(impl.options.durability == Durability::powerCut);
    }
    // First mends errors that may keep the parts from reading the file. Registers no process and configures no peer,
    // because their rows may be the wrong ones.
    mendRows(connection, prefix, report);
    const std::vector<SchemaObject> objects = schemaObjects(prefix);
    // If an index could not be restored because its rows violate it, statements that need it would fail.
    if (std::ranges::all_of(objects, [connection](const SchemaObject& object) {
          return object.kind != "index" || stateOf(connection, object) == ObjectState::ours;
        })) {
      impl.load();
      impl.recount(report);
    }
    if (isRehearsal) {
      report.left = findingsOf(connection, prefix, true);
      impl.transaction.rollback();
      return report;
    }
    dropNotes(connection, prefix);
    impl.transaction.commit();
  } catch (...) {
    impl.transaction.rollback();
    throw;
  }
  report.left = findingsOf(connection, prefix, true);
  return report;
}

NewStoreReport SqliteStore::makeNewStore() {
  impl_->parts->owners.refresh();
  if (impl_->parts->owners.shared()) {
    throw Error(Errc::alreadyRunning, "another process has the file open");
  }
  impl_->parts->forward([](WriteBack& part) { part.flushAll(); });
  NewStoreReport report =
      sqlite::makeNewStore(impl_->connection.handle(), impl_->connection.prefix(), *impl_->options.random);
  impl_->parts->backward([](WriteBack& part) { part.forget(); });
  return report;
}

void SqliteStore::advanceOldest(std::size_t looks) {
  impl_->parts->gathered.flush();
  impl_->parts->oldest.advance(looks);
}

Vitals SqliteStore::vitals() {
  Counters& counters = impl_->parts->counters;
  return {counters.live(), static_cast<std::uint64_t>(std::max<std::int64_t>(0, counters.value(Counter::failed))),
          impl_->parts->oldest.enqueuedAt()};
}

std::size_t SqliteStore::vacuum(std::size_t pages) {
  const std::size_t released = impl_->parts->vacuum.release(pages);
  if (released < pages || pages == 0) {
    impl_->logKeeper.request();
  }
  return released;
}

bool SqliteStore::tidy() {
  impl_->logKeeper.retry();
  return impl_->parts->vacuum.releaseIfMany();
}

const std::string& SqliteStore::origin() const noexcept {
  return impl_->origin;
}

const OpeningLook& SqliteStore::openingLook() const noexcept {
  return impl_->look;
}

std::string SqliteStore::whyLogNotBatched() const {
  return impl_->connection.whyLogNotBatched();
}

bool SqliteStore::isReplaced() const noexcept {
  return impl_->isReplaced;
}

SyncHealth SqliteStore::syncHealth() const noexcept {
  return impl_->logKeeper.health();
}

std::filesystem::path SqliteStore::logFile() const {
  return sqlite3_filename_wal(sqlite3_db_filename(impl_->connection.handle(), "main"));
}

std::filesystem::path SqliteStore::ownersFile() const {
  return sqlite::ownersFile(impl_->connection.handle(), impl_->connection.prefix());
}

const LatencyWindow& SqliteStore::latencies() const noexcept {
  return impl_->latencies;
}

std::uint64_t SqliteStore::epoch() const noexcept {
  return impl_->epoch;
}

std::int64_t SqliteStore::owner() const noexcept {
  return impl_->parts->context.owner;
}

SQLite::Database& SqliteStore::database() noexcept {
  return impl_->connection.database();
}

}  // namespace ackbox::store::sqlite
