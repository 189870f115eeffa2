#include "store/postgres/postgres_store.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "store/failure.hpp"
#include "store/postgres/parts.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

// How long one statement waits for a lock: those that other stores hold are free after a few commits. An application's
// may be held for hours.
constexpr std::chrono::milliseconds kLockWait(100);
constexpr std::chrono::milliseconds kLockWaitShort(10);

}  // namespace

FailedFor PostgresStore::Impl::whyFailed() const noexcept {
  if (!hasBegun) {
    // The server was asked twice already.
    return connection.isLost() ? FailedFor::absence : connection.hasMetLock() ? FailedFor::lockOfAll : FailedFor::job;
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

// A server that ends the connection twice within handlers, and is there in between, does so because of a handler.
bool PostgresStore::Impl::isLostByHandler() noexcept {
  return ++lostInHandlers > 1;
}

// The end of the connection may be noticed only there.
void PostgresStore::Impl::endScope(void (*end)(HandlerScopes&)) {
  const bool wasLent = scopes.isLent();
  try {
    end(scopes);
  } catch (const Error& error) {
    if (wasLent && error.code() != Errc::handlerEndedTransaction && connection.isLost() && isLostByHandler()) {
      throw Error(Errc::handlerEndedTransaction, error.what());
    }
    throw;
  }
}

void PostgresStore::Impl::begun(const Row& meta) {
  epoch = meta.as<std::uint64_t>(0);
  holds.noteOrders(meta.integer(1));
  peerResets.begun(meta.integer(2));
  counts.refresh();
  peers.begun();
  discovery.mayHaveNews();
}

PostgresStore::PostgresStore(const std::string& location, const OutboxOptions& options, const std::string& token,
                             std::shared_ptr<ConnectionEvents> events)
    : impl_(std::make_unique<Impl>(location, options, token, std::move(events))) {
  impl_->open();
}

PostgresStore::~PostgresStore() {
  if (inTransaction()) {
    rollback();
  }
  try {
    if (!impl_->connection.isLost()) {
      impl_->connection.execute("BEGIN");
      requireFit(versionInTransaction(impl_->connection), impl_->schema);
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
  const std::string waits = setLockWait("LOCAL ", patient ? kLockWait : kLockWaitShort);
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
      connection.post(waits);
      const Result meta = connection.run(
          "SELECT epoch,orders,recalls,EXISTS(SELECT 1 FROM #owners WHERE id<>$1),CASE WHEN $2 THEN "
          "pg_current_xact_id()::text ELSE '' END,least FROM #schema,#meta",
          impl_->context.owner, durable);
      if (meta.empty()) {
        throw Error(Errc::databaseReplaced, "it has no identity any more");
      }
      requireLeast(connection, meta.front().as<int>(5), impl_->schema);
      impl_->begun(meta.front());
      impl_->owners.noteShared(meta.front().integer(3) != 0);
      impl_->transaction = meta.front().text(4);
      impl_->scopes.transactionBegun(isSynced, waits);
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
  std::optional<std::string> unknown;
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
      } catch (...) {
        // Such as a server that is out of reach.
        unknown = circumstancesOf(std::current_exception());
      }
    }
    if (!isCommitted) {
      rollback();
      if (unknown) {
        throw Error(Errc::outcomeUnknown, *unknown);
      }
      throw;
    }
  }
  impl_->lostInHandlers = 0;
  const bool isNews = impl_->outbox.stored() != 0 && impl_->owners.shared();
  impl_->scopes.transactionEnded();
  impl_->each([](Memory& memory) { memory.committed(); });
  if (isNews && impl_->notifier) {
    impl_->notifier->notify(impl_->connection);
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
  impl_->scopes.transactionEnded();
  impl_->isGuarded = false;
  impl_->handlerOutbox.forget();
  impl_->each([](Memory& memory) { memory.rolledBack(); });
}

bool PostgresStore::inTransaction() const noexcept {
  return impl_->connection.inTransaction();
}

void PostgresStore::savepoint() {
  impl_->each([](Memory& memory) { memory.flush(); });
  impl_->scopes.begin();
  impl_->each([](Memory& memory) { memory.scopeBegun(); });
}

void PostgresStore::releaseSavepoint() {
  const bool wasLent = impl_->scopes.isLent();
  impl_->endScope([](HandlerScopes& scopes) { scopes.release(); });
  impl_->handlerOutbox.kept();
  impl_->each([](Memory& memory) { memory.scopeReleased(); });
  if (wasLent) {
    impl_->rows.forget();
  }
}

void PostgresStore::rollbackToSavepoint() {
  impl_->endScope([](HandlerScopes& scopes) { scopes.undo(); });
  impl_->handlerOutbox.undone();
  impl_->each([](Memory& memory) { memory.scopeUndone(); });
}

// A COMMIT by foreign code cannot be vetoed; `transactionLost` notices it, and that of a scope if a BEGIN followed.
void PostgresStore::guardTransaction(bool on) {
  if (!on && impl_->isGuarded) {
    impl_->scopes.handlerEnded();
  }
  impl_->isGuarded = on;
}

bool PostgresStore::transactionLost() const noexcept {
  return !impl_->connection.inTransaction();
}

Errc PostgresStore::whyTransactionLost(const std::exception_ptr& thrown) noexcept {
  if (!impl_->connection.isLost() || impl_->connection.isReset() || impl_->isLostByHandler()) {
    return Errc::handlerEndedTransaction;
  }
  return thrown ? static_cast<Errc>(store::errorOf(thrown).value()) : Errc::ioError;
}

store::FailedFor PostgresStore::failedFor() const noexcept {
  return impl_->failedFor;
}

std::chrono::milliseconds PostgresStore::lockWaitMost() const noexcept {
  return impl_->options.busyTimeout;
}

SteadyTime PostgresStore::steadyNow() const noexcept {
  return impl_->options.clock->steadyNow();
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
    const Result oldest = impl_->connection.run(
        "SELECT created_at_ms,id FROM #outbox WHERE state IN (0,2) AND id>=$1 ORDER BY id LIMIT 1",
        impl_->context.oldestKey);
    if (!oldest.empty()) {
      vitals.oldestAt = oldest.front().instant(0);
      impl_->context.oldestKey = oldest.front().integer(1);
    }
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

bool PostgresStore::isReplaced() const noexcept {
  return impl_->isReplaced;
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

const std::string& PostgresStore::whyUnsafe() const noexcept {
  return impl_->unsafe;
}

const std::string& PostgresStore::otherAgent() const noexcept {
  return impl_->otherAgent;
}

PGconn* PostgresStore::handlersConnection() noexcept {
  return impl_->scopes.lend();
}

int PostgresStore::serverProcess() const noexcept {
  return impl_->connection.processId();
}

}  // namespace ackbox::store::postgres
