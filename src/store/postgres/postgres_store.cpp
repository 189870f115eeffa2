#include "store/postgres/postgres_store.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "store/decisions/uuid.hpp"
#include "store/failure.hpp"
#include "store/postgres/inbound/inbound_marks.hpp"
#include "store/postgres/inbound/inbox.hpp"
#include "store/postgres/outbound/claims.hpp"
#include "store/postgres/outbound/dead_letters.hpp"
#include "store/postgres/outbound/discovery.hpp"
#include "store/postgres/outbound/handler_outbox.hpp"
#include "store/postgres/outbound/idempotency_keys.hpp"
#include "store/postgres/outbound/outbox.hpp"
#include "store/postgres/outbound/settles.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/postgres/peers/owners.hpp"
#include "store/postgres/peers/peer_resets.hpp"
#include "store/postgres/peers/peers.hpp"
#include "store/postgres/peers/subscriptions.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/signs.hpp"

namespace ackbox::store::postgres {
namespace {

// How long one statement waits for a lock: those that other stores hold are free after a few commits. An application's
// may be held for hours.
constexpr std::chrono::milliseconds kLockWait(100);
constexpr std::chrono::milliseconds kLockWaitShort(10);

std::string setLockWait(const char* scope, std::chrono::milliseconds most) {
  return std::string("SET ").append(scope).append("lock_timeout=").append(std::to_string(most.count()));
}

}  // namespace

struct PostgresStore::Impl {
  Impl(const std::string& location, const OutboxOptions& givenOptions, const std::string& token)
      : options(validated(givenOptions)), connection(location) {
    if (!token.empty()) {
      notifier.emplace(location, token);
    }
    context.flushRows = [this] {
      rows.flush();
      released.flush();
    };
  }

  void open();
  void limitWaits();
  void restart();
  void noteServer();
  [[nodiscard]] bool hasCommitted();
  [[nodiscard]] FailedFor whyFailed() const noexcept;
  void begun(const Row& meta);
  template <typename Step>
  void each(const Step& step) {
    for (Memory* const memory : memories) {
      step(*memory);
    }
  }

  OutboxOptions options;
  Connection connection;
  LatencyWindow window;
  Counts counts{connection, true};
  Shares shares{connection, counts};
  ReleasedClaims released{connection};
  Context context{connection, counts, shares, released, options, *options.clock, *options.random};
  Holds holds{context};
  Discovery discovery{context, holds};
  Peers peers{context, options.peers, holds};
  PeerResets peerResets{context, peers, discovery};
  Subscriptions subscriptions{context, holds};
  NewRows rows{context};
  Outbox outbox{context, peers, rows};
  Claims claims{context};
  AckLatencies latencies{window, *options.clock};
  Settles settles{context, holds, peerResets, latencies};
  DeadLetters deadLetters{context, outbox, settles, holds};
  InboundMarks marks{context};
  Inbox inbox{context, marks};
  Owners owners{context};

  // In the order of a commit: counts come after all parts that count.
  const std::vector<Memory*> memories = {&rows,   &released,  &marks, &shares,     &counts,
                                         &outbox, &latencies, &peers, &peerResets, &discovery};
  // Those that an enqueue changes, in that order.
  const std::vector<Memory*> ofEnqueues = {&rows, &counts, &outbox};
  HandlerOutbox handlerOutbox{context, outbox, ofEnqueues};

  std::optional<Notifier> notifier;
  std::string origin;
  std::uint64_t epoch = 0;
  OpeningLook look;
  std::string unsafe;
  bool hasServerChanged = false;
  std::function<void()> reportServer = [] {};
  std::optional<SteadyTime> tidiedAt;
  int scopes = 0;
  // Foreign code runs: `handlerOutbox` is the outbox.
  bool isGuarded = false;
  // The statement that limits how long the transaction's others wait for a lock.
  std::string waits;
  // The transaction's number, if its outcome matters where its answer is lost.
  std::string transaction;
  // Whether the transaction's outcome matters where its answer is lost.
  bool isDurable = false;
  bool hasBegun = false;
  FailedFor failedFor = FailedFor::job;
  // The connection was lost at the COMMIT, and it is certain that nothing was committed.
  bool isUndone = false;
  // A COMMIT was sent, and what became of it could not be found out.
  bool isUnknown = false;
};

// Outside the store's transactions, such as at the opening. 0 would be for ever.
void PostgresStore::Impl::limitWaits() {
  connection.execute(setLockWait("", std::max(options.busyTimeout, std::chrono::milliseconds(1))));
}

void PostgresStore::Impl::open() {
  limitWaits();
  makeSchema(connection, options);
  if (connection.execute("SELECT current_setting('fsync')='on' AND current_setting('full_page_writes')='on'")
          .front()
          .integer(0) == 0) {
    unsafe = "the server's fsync or full_page_writes is off: a power cut may lose what is acknowledged; turn both on";
  }
  connection.execute("BEGIN");
  try {
    const Result meta = connection.run(
        "INSERT INTO #meta(id,version,written_by,origin,epoch) VALUES(1,$1,$2,$3,1) ON CONFLICT(id) DO UPDATE SET "
        "epoch=#meta.epoch+1 RETURNING origin,epoch",
        kSchemaVersion, ACKBOX_VERSION, randomUuid(*options.random));
    origin = meta.front().text(0);
    noteServer();
    begun(connection.run("SELECT epoch,orders,recalls FROM #meta").front());
    peers.configure();
    owners.registerSelf();
    owners.releaseDead();
    connection.execute("COMMIT");
  } catch (...) {
    connection.execute("ROLLBACK");
    throw;
  }
}

// As another owner: a process that found the lock free has put back what the former one had.
void PostgresStore::Impl::restart() {
  connection.reconnect();
  try {
    limitWaits();
    discovery.startOver(context.recallsMade);
    holds.restart();
    connection.execute("BEGIN");
    noteServer();
    owners.registerSelf();
    owners.releaseDead();
    connection.execute("COMMIT");
  } catch (...) {
    // Nobody would put back what an owner without a row has claimed: the next transaction begins here again.
    connection.drop();
    throw;
  }
  if (std::exchange(hasServerChanged, false)) {
    reportServer();
  }
}

// In the transaction of an opening or a reconnection. With an asynchronous standby, a promotion loses commits; each has
// a timeline of its own. The epoch may be an earlier one, which peers would refuse. What they know of this store, and
// it does not, is found by content.
void PostgresStore::Impl::noteServer() {
  const Result changed = connection.run(
      "UPDATE #meta AS m SET server=n.server,epoch=m.epoch+CASE WHEN o.server='' THEN 0 ELSE 1 END FROM #meta AS o,"
      "(SELECT (SELECT system_identifier FROM pg_control_system())||'/'||"
      "left(pg_walfile_name(pg_current_wal_insert_lsn()),8) AS server) AS n WHERE m.server<>n.server RETURNING "
      "o.server");
  hasServerChanged = !changed.empty() && !changed.front().view(0).empty();
}

// The connection was lost before the answer to a COMMIT came. The former connection's process may still be at it: once
// its lock is free, it has ended.
bool PostgresStore::Impl::hasCommitted() {
  connection.reconnect();
  bool isCommitted = false;
  try {
    limitWaits();
    connection.run("SELECT pg_advisory_lock('#meta'::regclass::oid::integer,$1::integer)", context.owner);
    isCommitted = connection.run("SELECT pg_xact_status($1::xid8)='committed'", transaction).front().integer(0) != 0;
  } catch (...) {
    connection.drop();
    throw;
  }
  restart();
  return isCommitted;
}

FailedFor PostgresStore::Impl::whyFailed() const noexcept {
  if (!hasBegun) {
    // The server was asked twice already.
    return connection.isLost() ? FailedFor::absence : FailedFor::job;
  }
  if (isUnknown) {
    // What is durable could be stored twice.
    return isDurable ? FailedFor::absence : FailedFor::job;
  }
  if (isUndone || connection.isLost() || connection.hasLostRace()) {
    return FailedFor::race;
  }
  return connection.hasMetLock() ? FailedFor::lock : FailedFor::job;
}

void PostgresStore::Impl::begun(const Row& meta) {
  epoch = meta.as<std::uint64_t>(0);
  holds.noteOrders(meta.integer(1));
  peerResets.begun(meta.integer(2));
  counts.refresh();
  peers.begun();
  discovery.mayHaveNews();
}

PostgresStore::PostgresStore(const std::string& location, const OutboxOptions& options, const std::string& token)
    : impl_(std::make_unique<Impl>(location, options, token)) {
  impl_->open();
}

PostgresStore::~PostgresStore() {
  if (inTransaction()) {
    rollback();
  }
  try {
    if (!impl_->connection.isLost()) {
      impl_->connection.execute("BEGIN");
      impl_->owners.unregisterSelf();
      impl_->connection.execute("COMMIT");
    }
  } catch (const std::exception&) {
    // The next opener finds this owner dead and does the same.
  }
}

void PostgresStore::begin(bool durable, bool patient) {
  Connection& connection = impl_->connection;
  impl_->isDurable = durable;
  impl_->hasBegun = false;
  impl_->isUndone = false;
  impl_->isUnknown = false;
  impl_->waits = setLockWait("LOCAL ", patient ? kLockWait : kLockWaitShort);
  connection.forgetOthers();
  const bool isSynced = durable && impl_->options.durability == Durability::powerCut;
  for (bool isSecond = false;; isSecond = true) {
    if (connection.isLost()) {
      impl_->restart();
    }
    try {
      connection.post("BEGIN ISOLATION LEVEL READ COMMITTED");
      if (!isSynced) {
        connection.post("SET LOCAL synchronous_commit=off");
      }
      connection.post(impl_->waits);
      const Result meta = connection.run(
          "SELECT epoch,orders,recalls,EXISTS(SELECT 1 FROM #owners WHERE id<>$1),CASE WHEN $2 THEN "
          "pg_current_xact_id()::text ELSE '' END FROM #meta",
          impl_->context.owner, durable);
      impl_->begun(meta.front());
      impl_->owners.noteShared(meta.front().integer(3) != 0);
      impl_->transaction = meta.front().text(4);
      impl_->hasBegun = true;
      return;
    } catch (const Error&) {
      rollback();
      // A server that has gone is found out by the first statement.
      if (isSecond || !connection.isLost()) {
        throw;
      }
    }
  }
}

void PostgresStore::commit() {
  bool isSent = false;
  try {
    impl_->each([](Memory& memory) { memory.flush(); });
    if (impl_->connection.hasFailed()) {
      throw Error(Errc::databaseError, "a statement of the transaction has failed");
    }
    // With all that is posted, in one way to the server.
    isSent = true;
    impl_->connection.execute("COMMIT");
  } catch (...) {
    bool isCommitted = false;
    if (isSent && impl_->connection.isLost()) {
      // An enqueue whose answer is lost must not be repeated if it was committed; what is not durable is repeated by
      // its jobs' own means.
      impl_->isUnknown = true;
      try {
        isCommitted = impl_->isDurable && impl_->hasCommitted();
        impl_->isUnknown = !impl_->isDurable;
        impl_->isUndone = !isCommitted && impl_->isDurable;
      } catch (const std::exception&) {
        // The server is out of reach: the outcome stays unknown.
      }
    }
    if (!isCommitted) {
      rollback();
      throw;
    }
  }
  const bool isNews = impl_->outbox.stored() != 0 && impl_->owners.shared();
  impl_->scopes = 0;
  impl_->each([](Memory& memory) { memory.committed(); });
  if (isNews && impl_->notifier) {
    impl_->notifier->notify();
  }
}

void PostgresStore::rollback() noexcept {
  Connection& connection = impl_->connection;
  impl_->failedFor = impl_->whyFailed();
  connection.forgetPosted();
  try {
    if (connection.inTransaction()) {
      connection.execute("ROLLBACK");
    }
  } catch (const std::exception&) {
    // The connection is lost, and the transaction with it.
  }
  impl_->scopes = 0;
  impl_->isGuarded = false;
  impl_->handlerOutbox.forget();
  impl_->each([](Memory& memory) { memory.rolledBack(); });
}

bool PostgresStore::inTransaction() const noexcept {
  return impl_->connection.inTransaction();
}

void PostgresStore::savepoint() {
  impl_->each([](Memory& memory) { memory.flush(); });
  impl_->connection.post("SAVEPOINT s" + std::to_string(++impl_->scopes));
  // A handler's statements are planned as on any connection, and wait for locks as its own.
  impl_->connection.post("SET LOCAL lock_timeout TO DEFAULT");
  impl_->connection.planFreely();
  impl_->connection.runPosted();
  impl_->each([](Memory& memory) { memory.scopeBegun(); });
}

void PostgresStore::releaseSavepoint() {
  if (impl_->connection.hasFailed()) {
    throw Error(Errc::handlerEndedTransaction, "a statement of the handler failed, and its answer does not say so");
  }
  impl_->connection.planByIndex();
  impl_->connection.execute("RELEASE s" + std::to_string(impl_->scopes--));
  impl_->connection.post(impl_->waits);
  impl_->each([](Memory& memory) { memory.scopeReleased(); });
}

void PostgresStore::rollbackToSavepoint() {
  const std::string name = std::to_string(impl_->scopes--);
  impl_->connection.forgetPosted();
  impl_->connection.execute("ROLLBACK TO s" + name + ";RELEASE s" + name);
  impl_->each([](Memory& memory) { memory.scopeUndone(); });
}

// A COMMIT by foreign code cannot be vetoed; `transactionLost` notices it, and that of a scope if a BEGIN followed.
void PostgresStore::guardTransaction(bool on) {
  if (!on && impl_->isGuarded) {
    impl_->handlerOutbox.end();
  }
  impl_->isGuarded = on;
}

bool PostgresStore::transactionLost() const noexcept {
  return !impl_->connection.inTransaction();
}

Errc PostgresStore::whyTransactionLost(const std::exception_ptr& thrown) const noexcept {
  if (!impl_->connection.isLost()) {
    return Errc::handlerEndedTransaction;
  }
  return thrown ? static_cast<Errc>(store::errorOf(thrown).value()) : Errc::ioError;
}

store::FailedFor PostgresStore::failedFor() const noexcept {
  return impl_->failedFor;
}

int PostgresStore::lockTries() const noexcept {
  return static_cast<int>(impl_->options.busyTimeout / kLockWaitShort);
}

store::Outbox& PostgresStore::outbox() noexcept {
  if (impl_->isGuarded) {
    return impl_->handlerOutbox;
  }
  return impl_->outbox;
}

store::Claims& PostgresStore::claims() noexcept {
  return impl_->claims;
}

store::Settles& PostgresStore::settles() noexcept {
  return impl_->settles;
}

store::DeadLetters& PostgresStore::deadLetters() noexcept {
  return impl_->deadLetters;
}

store::Holds& PostgresStore::holds() noexcept {
  return impl_->holds;
}

store::Peers& PostgresStore::peers() noexcept {
  return impl_->peers;
}

store::Subscriptions& PostgresStore::subscriptions() noexcept {
  return impl_->subscriptions;
}

store::PeerResets& PostgresStore::peerResets() noexcept {
  return impl_->peerResets;
}

store::InboundMarks& PostgresStore::inboundMarks() noexcept {
  return impl_->marks;
}

store::Inbox& PostgresStore::inbox() noexcept {
  return impl_->inbox;
}

store::Discovery& PostgresStore::discovery() noexcept {
  return impl_->discovery;
}

store::Owners& PostgresStore::owners() noexcept {
  return impl_->owners;
}

Fill PostgresStore::fill() {
  return impl_->counts.fill();
}

Vitals PostgresStore::vitals() {
  const Fill fill = impl_->counts.recent(impl_->options.clock->steadyNow()).fill();
  Vitals vitals;
  vitals.live = fill.rows;
  vitals.failed = static_cast<std::uint64_t>(std::max<std::int64_t>(0, impl_->counts.value(Count::failed)));
  if (fill.rows != 0) {
    const Result oldest =
        impl_->connection.run("SELECT created_at_ms FROM #outbox WHERE state IN (0,2) ORDER BY id LIMIT 1");
    vitals.oldestAt = oldest.empty() ? std::nullopt : std::optional(oldest.front().instant(0));
  }
  return vitals;
}

std::optional<bool> PostgresStore::addPeer(const PeerOptions& peer, std::string_view definition) {
  return impl_->peers.define(peer, definition);
}

PeerRemoval PostgresStore::removePeer(std::string_view name, WaitingMessages waiting) {
  impl_->rows.flush();
  PeerRemoval removal = impl_->peers.remove(name, waiting);
  if (removal.isRemoved) {
    removal.subscriptions = impl_->subscriptions.removeOfRemoved();
  }
  return removal;
}

RepairReport PostgresStore::repair() {
  impl_->each([](Memory& memory) { memory.flush(); });
  RepairReport report;
  recount(impl_->connection, report);
  impl_->counts.refresh();
  return report;
}

// Not each time: several processes poll many times a second.
bool PostgresStore::tidy() {
  constexpr std::chrono::seconds kPause(1);
  constexpr std::size_t kKeysMax = 256;
  const SteadyTime now = impl_->options.clock->steadyNow();
  if (impl_->tidiedAt && now - *impl_->tidiedAt < kPause) {
    return false;
  }
  impl_->counts.foldIfMany();
  const bool isUntidy = IdempotencyKeys(impl_->context).purge(impl_->context.now(), kKeysMax) == kKeysMax;
  impl_->tidiedAt = isUntidy ? std::nullopt : std::optional(now);
  return isUntidy;
}

const std::string& PostgresStore::origin() const noexcept {
  return impl_->origin;
}

std::uint64_t PostgresStore::epoch() const noexcept {
  return impl_->epoch;
}

std::int64_t PostgresStore::owner() const noexcept {
  return impl_->context.owner;
}

const OpeningLook& PostgresStore::openingLook() const noexcept {
  return impl_->look;
}

const LatencyWindow& PostgresStore::latencies() const noexcept {
  return impl_->window;
}

void PostgresStore::whenServerChanged(std::function<void()> report) {
  impl_->reportServer = std::move(report);
  if (std::exchange(impl_->hasServerChanged, false)) {
    impl_->reportServer();
  }
}

const std::string& PostgresStore::whyUnsafe() const noexcept {
  return impl_->unsafe;
}

PGconn* PostgresStore::handlersConnection() noexcept {
  return impl_->connection.handle();
}

int PostgresStore::serverProcess() const noexcept {
  return impl_->connection.processId();
}

}  // namespace ackbox::store::postgres
