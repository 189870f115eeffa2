#include "store/sqlite/store.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sqlite/checkpointer.hpp"
#include "sqlite/transaction.hpp"
#include "sqlite/vacuum.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/sqlite/inbound/inbox.hpp"
#include "store/sqlite/outbound/claims.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/outbound/discovery.hpp"
#include "store/sqlite/outbound/outbox.hpp"
#include "store/sqlite/outbound/settles.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/peers/owners.hpp"
#include "store/sqlite/peers/peer_resets.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/schema/recount.hpp"
#include "store/sqlite/schema/schema.hpp"

namespace ackbox::store {
namespace {

/// The parts whose statements need the tables.
struct Parts {
  Parts(Connection& connection, Transaction& transaction, const OutboxOptions& options,
        std::shared_ptr<Liveness> liveness)
      : counters(connection.handle(), connection.prefix()),
        states(connection.handle(), connection.prefix()),
        tails(connection.handle(), connection.prefix(), counters, states),
        oldest(connection.handle(), connection.prefix(), counters),
        inFlight(connection),
        shares(connection.handle(), connection.prefix(), counters),
        context{connection, counters, states,  tails,          oldest,         inFlight,
                claimCache, shares,   options, *options.clock, *options.random},
        peers(context),
        memory(context, peers),
        holds(context),
        outbox(context, peers),
        claims(context),
        settles(context, holds),
        deadLetters(context, outbox, settles, holds),
        marks(context),
        inbox(context),
        owners(context, std::move(liveness)),
        discovery(context, transaction),
        vacuum(connection),
        selectMeta(connection.prepare("SELECT epoch,recalls FROM #meta")) {}

  Counters counters;
  SessionStates states;
  LazySessionRows tails;
  Oldest oldest;
  InFlight inFlight;
  ClaimCache claimCache;
  SenderShares shares;
  Context context;
  Peers peers;
  PeerResets memory;
  Holds holds;
  Outbox outbox;
  Claims claims;
  Settles settles;
  DeadLetters deadLetters;
  InboundMarks marks;
  Inbox inbox;
  Owners owners;
  Discovery discovery;
  Vacuum vacuum;
  Statement selectMeta;
};

/// While it lives, the connection waits for no lock.
class NoBusyTimeout {
public:
  NoBusyTimeout(sqlite3* connection, const OutboxOptions& options)
      : connection_(connection), busyTimeout_(static_cast<int>(options.busyTimeout.count())) {
    sqlite3_busy_timeout(connection_, 0);
  }
  ~NoBusyTimeout() { sqlite3_busy_timeout(connection_, busyTimeout_); }
  NoBusyTimeout(const NoBusyTimeout&) = delete;
  NoBusyTimeout& operator=(const NoBusyTimeout&) = delete;

private:
  sqlite3* const connection_;
  const int busyTimeout_;
};

OutboxOptions complete(OutboxOptions options) {
  validate(options);
  if (!options.clock) {
    options.clock = systemClock();
  }
  if (!options.random) {
    options.random = systemRandom();
  }
  return options;
}

}  // namespace

struct Store::Body {
  explicit Body(const StoreOptions& storeOptions);

  /// The parts, with all enqueued rows in their table: for whatever looks at it.
  Parts& written() {
    parts->outbox.flush();
    return *parts;
  }
  void open(std::shared_ptr<Liveness> liveness);
  void readMeta();
  void notice(std::int64_t nowRecalled) noexcept;
  void reload();
  void requireForward(std::uint64_t epochNow);
  void forgetAll() noexcept;
  RepairReport recount(bool byHand);
  void flushClaims();

  // Constant after construction.
  const OutboxOptions options;
  Connection connection;
  Checkpointer checkpointer;
  Transaction transaction;
  std::unique_ptr<Parts> parts;
  std::string origin;

  // As of the last `begin`.
  std::uint64_t epoch = 0;
  // The same, and what this transaction makes of it.
  std::int64_t recalls = 0;
  std::optional<std::int64_t> recallsNow;
  // As of the last commit that was seen: neither ever falls.
  std::uint64_t epochSeen = 0;
  std::int64_t lastKeySeen = 0;

  /// What a nested scope puts back when it is undone.
  struct Scope {
    Counters::Changes changes;
    std::size_t storedRows;
    std::size_t superseded;
    std::size_t tails;
  };
  std::vector<Scope> scopes;
  // Taken away by transactions that are committed, and not asked for yet.
  std::size_t supersededBefore = 0;
};

Store::Body::Body(const StoreOptions& storeOptions)
    : options(complete(storeOptions.outbox)),
      connection(storeOptions.file, options,
                 [&](sqlite3* file) { requireUsable(schemaVersion(file, options.tablePrefix), options.createSchema); }),
      checkpointer(connection.handle(), options.checkpointPages, static_cast<int>(options.busyTimeout.count())),
      transaction(connection) {
  transaction.begin(options.durability == Durability::powerCut);
  try {
    open(storeOptions.liveness ? storeOptions.liveness
                               : kernelLiveness(store::ownersFile(connection.handle(), connection.prefix()),
                                                sqlite3_db_filename(connection.handle(), "main")));
    parts->states.flush();
    parts->counters.writeAll();
    transaction.commit();
  } catch (...) {
    transaction.rollback();
    throw;
  }
}

// In one transaction, so that a crash in the middle leaves the file as it was.
void Store::Body::open(std::shared_ptr<Liveness> liveness) {
  const std::int64_t version = schemaVersion(connection.handle(), connection.prefix());
  requireUsable(version, options.createSchema);
  migrate(connection.handle(), connection.prefix(), version);
  Statement identify = connection.prepare(
      "INSERT INTO #meta(id,origin,epoch) VALUES(1,?1,1) ON CONFLICT(id) DO UPDATE SET epoch=epoch+1");
  Query(identify, randomUuid(*options.random)).run();
  Statement selectOrigin = connection.prepare("SELECT origin FROM #meta");
  Query query(selectOrigin);
  query.next();
  origin = query.text(0);

  parts = std::make_unique<Parts>(connection, transaction, options, std::move(liveness));
  readMeta();
  parts->tails.catchUp();
  parts->peers.configure();
  parts->owners.registerSelf();
  parts->owners.buryDead();
}

void Store::Body::readMeta() {
  std::int64_t nowRecalled = 0;
  {
    Query query(parts->selectMeta);
    query.next();
    requireForward(query.as<std::uint64_t>(0));
    epoch = query.as<std::uint64_t>(0);
    nowRecalled = query.integer(1);
  }
  notice(nowRecalled);
}

// What is in memory, and what was told of rows, is of another file when a backup is written over one that is in use.
void Store::Body::requireForward(std::uint64_t epochNow) {
  const std::int64_t lastKeyNow = parts->counters.writtenLastKey();
  if (epochNow < epochSeen || lastKeyNow < lastKeySeen) {
    throw Error(Errc::databaseError,
                "the file went back to an earlier state while this process had it open: restart the process, with the "
                "newer file if there is one");
  }
  epochSeen = epochNow;
  lastKeySeen = lastKeyNow;
}

// Whoever puts old rows back tells nobody of them.
void Store::Body::notice(std::int64_t nowRecalled) noexcept {
  parts->context.recallsMade = nowRecalled;
  if (std::exchange(recalls, nowRecalled) != nowRecalled) {
    parts->discovery.retell(nowRecalled);
  }
}

void Store::Body::reload() {
  parts->outbox.forgetSessions();
  parts->counters.forget();
  parts->states.forget();
  parts->tails.forget();
  parts->oldest.forget();
  parts->inFlight.forget();
  parts->claimCache.forget();
  parts->owners.refresh();
  parts->holds.refresh();
  readMeta();
  parts->marks.forget();
  parts->shares.forget();
}

void Store::Body::flushClaims() {
  parts->inFlight.claims.flush();
  parts->inFlight.flushConfirmed(parts->states);
}

RepairReport Store::Body::recount(bool byHand) {
  Parts& all = written();
  all.tails.writeAll();
  all.marks.flush();
  all.shares.flush();
  all.states.flush();
  all.counters.writeAll();
  RepairReport report = store::recount(connection.handle(), connection.prefix(), byHand);
  all.outbox.forgetSessions();
  all.counters.forget();
  all.states.forget();
  all.tails.forget();
  all.oldest.forget();
  all.claimCache.forget();
  all.marks.forget();
  all.shares.forget();
  if (report.mended != 0) {
    Query query(all.selectMeta);
    query.next();
    recallsNow = query.integer(1);
  }
  return report;
}

void Store::Body::forgetAll() noexcept {
  scopes.clear();
  recallsNow.reset();
  parts->outbox.forgetSessions();
  parts->outbox.forgetAfter(0, supersededBefore);
  parts->counters.forget();
  parts->states.forget();
  parts->tails.forget();
  parts->oldest.forget();
  parts->inFlight.forget();
  parts->claimCache.forget();
  parts->marks.forget();
  parts->shares.forget();
}

Store::Store(const StoreOptions& options) : body_(std::make_unique<Body>(options)) {}

Store::~Store() {
  if (inTransaction()) {
    rollback();
  }
  try {
    begin(false);
    body_->parts->owners.leave();
    body_->parts->tails.writeAll();
    body_->parts->counters.writeAll();
    commit();
  } catch (const std::exception&) {
    // The next opener finds this owner dead and does the same.
  }
}

void Store::begin(bool durable, bool patient) {
  const bool fullSync = durable && body_->options.durability == Durability::powerCut;
  std::optional<NoBusyTimeout> impatience;
  if (!patient) {
    impatience.emplace(body_->connection.handle(), body_->options);
  }
  const bool isChanged = body_->transaction.begin(fullSync);
  try {
    if (isChanged) {
      body_->reload();
    }
    body_->parts->tails.catchUp();
  } catch (...) {
    rollback();
    throw;
  }
}

void Store::commit() {
  std::int64_t lastKey = 0;
  try {
    body_->written();
    body_->parts->tails.flush();
    body_->parts->marks.flush();
    body_->parts->shares.flush();
    body_->parts->outbox.forgetTooMany();
    body_->flushClaims();
    body_->parts->states.flush();
    body_->parts->oldest.advanceIfDue();
    body_->parts->counters.flush();
    if (body_->parts->counters.isDoubtful()) {
      body_->recount(false);
    }
    lastKey = body_->parts->counters.writtenLastKey();
    body_->transaction.commit();
  } catch (...) {
    rollback();
    throw;
  }
  body_->lastKeySeen = lastKey;
  body_->parts->inFlight.claims.committed();
  body_->scopes.clear();
  body_->parts->discovery.publish(body_->parts->outbox.stored());
  if (const auto recalls = std::exchange(body_->recallsNow, std::nullopt)) {
    body_->notice(*recalls);
  }
  body_->supersededBefore = body_->parts->outbox.superseded().size();
  body_->parts->outbox.forgetAfter(0, body_->supersededBefore);
  body_->checkpointer.checkpointIfDue();
}

void Store::rollback() noexcept {
  body_->transaction.rollback();
  // What was read of it, such as who else has the file open, is read again.
  body_->transaction.doubtVersion();
  body_->forgetAll();
}

bool Store::inTransaction() const noexcept {
  return body_->transaction.open();
}

EnqueueReceipt Store::enqueue(const Frame& frame) {
  return body_->parts->outbox.enqueue(frame);
}

Fill Store::fill() {
  Counters& counters = body_->parts->counters;
  return {counters.live(), counters.liveBytes()};
}

std::vector<SupersededMessage> Store::takeSuperseded() {
  body_->supersededBefore = 0;
  return body_->parts->outbox.takeSuperseded();
}

ClaimReply Store::claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls,
                        std::uint64_t bytesMax) {
  return body_->written().claims.claim(sessions, recalls, bytesMax);
}

std::vector<std::optional<SettledMessage>> Store::settle(std::span<const delivery::Settlement> settlements) {
  Parts& parts = body_->written();
  std::vector<std::optional<SettledMessage>> settled = parts.settles.settle(settlements);
  if (const std::set<delivery::SessionKey> returned = parts.settles.takeReturned(); !returned.empty()) {
    // Whoever has decided what comes next took them for settled.
    parts.memory.recall(returned);
    body_->recallsNow = parts.memory.recalls();
  }
  return settled;
}

void Store::release(std::span<const delivery::SessionRelease> releases) {
  body_->parts->claims.release(releases);
}

void Store::recordPeer(const delivery::PeerRecord& record) {
  body_->parts->peers.record(record);
}

std::optional<PeerResetEvent> Store::hear(const delivery::PeerIdentity& news) {
  std::optional<PeerResetEvent> event = body_->written().memory.hear(news);
  body_->recallsNow = body_->parts->memory.recalls();
  return event;
}

std::optional<Store::AckedById> Store::ackById(std::string_view messageId) {
  return body_->written().settles.ackById(messageId);
}

Store::AckEventOutcome Store::applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                            const FrameResult& word, std::string_view origin) {
  return body_->written().settles.applyAckEvent(agent, messageId, sequence, word, origin);
}

std::size_t Store::purgeAcked(std::size_t limit) {
  if (body_->parts->counters.value(Counter::retained) == 0) {
    return 0;
  }
  return body_->written().settles.purgeAcked(limit, body_->options.clock->wallNow());
}

std::size_t Store::purgeAcked(std::size_t limit, std::chrono::milliseconds age) {
  // The row says until when it is kept, which is the acknowledgement plus the retention.
  return body_->written().settles.purgeAcked(limit,
                                             body_->options.clock->wallNow() + body_->options.ackedRetention - age);
}

RepairReport Store::repair() {
  RepairReport report = body_->recount(true);
  body_->parts->holds.refresh();
  return report;
}

void Store::advanceOldest(std::size_t looks) {
  body_->written().oldest.advance(looks);
}

Vitals Store::vitals() {
  Counters& counters = body_->parts->counters;
  return {counters.live(), static_cast<std::uint64_t>(std::max<std::int64_t>(0, counters.value(Counter::failed))),
          body_->parts->oldest.enqueuedAt()};
}

std::size_t Store::vacuum(std::size_t pages) {
  const std::size_t released = body_->parts->vacuum.release(pages);
  if (released < pages) {
    body_->checkpointer.request();
  }
  return released;
}

bool Store::tidy() {
  body_->checkpointer.retry();
  return body_->parts->vacuum.releaseIfMany();
}

DeadLetters& Store::deadLetters() {
  return body_->written().deadLetters;
}

Holds& Store::holds() noexcept {
  return body_->parts->holds;
}

AdmissionReply Store::admit(const InboundIdentity& frame) {
  return body_->parts->marks.admit(frame);
}

void Store::markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  body_->parts->marks.mark(frame, gap, life);
}

void Store::markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  body_->parts->marks.mark(frame, gap, life);
  body_->parts->counters.add(Counter::received, 1);
}

Inbox& Store::inbox() noexcept {
  return body_->parts->inbox;
}

void Store::countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) {
  body_->parts->counters.add(Counter::refusedUnauthenticated, static_cast<std::int64_t>(unauthenticated));
  body_->parts->counters.add(Counter::refusedForbidden, static_cast<std::int64_t>(forbidden));
}

void Store::countRefused(Admission admission) {
  body_->parts->counters.add(admission == Admission::idConflict ? Counter::idConflicts : Counter::staleEpochs, 1);
}

void Store::countDuplicate() {
  body_->parts->counters.add(Counter::duplicates, 1);
}

std::size_t Store::purgeProcessed(std::size_t limit) {
  return body_->parts->marks.purge(limit);
}

std::optional<InboundLimit> Store::limitReached(const InboundIdentity& frame, const InboundLimits& limits) {
  const auto reached = body_->parts->marks.limitReached(frame, limits);
  if (reached) {
    body_->parts->counters.add(Counter::refusedLimits, 1);
  }
  return reached;
}

std::optional<InboundLimit> Store::deferralLimitReached(const InboundFrame& frame, const InboundOptions& limits) {
  const auto reached = body_->parts->inbox.isFull(frame, limits.deferred)
                           ? std::optional(InboundLimit::inbox)
                           : body_->parts->marks.wordLimitReached(frame.source, limits.limits);
  if (reached) {
    body_->parts->counters.add(Counter::refusedLimits, 1);
  }
  return reached;
}

ForgetReport Store::forgetSender(std::string_view source, std::optional<std::string_view> origin, std::size_t limit) {
  return body_->parts->marks.forgetSender(source, origin, limit);
}

void Store::savepoint() {
  // Handed over now, so that undoing the scope finds in the file what was in flight before.
  InFlight& inFlight = body_->written().inFlight;
  inFlight.claims.flush();
  inFlight.flushConfirmed(body_->parts->states);
  body_->transaction.savepoint();
  body_->scopes.push_back({body_->parts->counters.changes(), body_->parts->outbox.stored().size(),
                           body_->parts->outbox.superseded().size(), body_->parts->tails.mark()});
}

void Store::releaseSavepoint() {
  body_->transaction.releaseSavepoint();
  body_->scopes.pop_back();
}

void Store::rollbackToSavepoint() {
  body_->transaction.rollbackToSavepoint();
  const Body::Scope scope = body_->scopes.back();
  body_->scopes.pop_back();
  body_->parts->outbox.forgetSessions();
  body_->parts->outbox.forgetAfter(scope.storedRows, scope.superseded);
  body_->parts->counters.restore(scope.changes);
  body_->parts->tails.restore(scope.tails);
  body_->parts->oldest.forget();
  body_->parts->claimCache.forget();
  body_->parts->inFlight.restore();
}

void Store::guardTransaction(bool on) {
  body_->transaction.guard(on);
}

bool Store::transactionLost() const noexcept {
  return body_->transaction.lost();
}

NewRows Store::takeNewRows(std::size_t limit) {
  NewRows found = body_->parts->discovery.take(limit);
  Holds& orders = body_->parts->holds;
  try {
    // After the rows, so that no row is told without the orders that came before it.
    if (body_->parts->discovery.hasScanned()) {
      orders.refresh();
    }
    found.holds = orders.tell();
  } catch (const std::exception&) {
    // The rows are taken; the next look tells the orders.
    orders.restart();
  }
  return found;
}

void Store::stopDiscovery() noexcept {
  body_->parts->discovery.stop();
}

void Store::restartDiscovery() noexcept {
  body_->parts->discovery.restart();
  body_->parts->holds.restart();
}

bool Store::shared() const noexcept {
  return body_->parts->owners.shared();
}

std::size_t Store::buryDeadOwners() {
  return body_->written().owners.buryDead();
}

bool Store::anyOwnerDead() {
  return body_->parts->owners.anyDead();
}

std::span<const PeerRow> Store::peers() const noexcept {
  return body_->parts->peers.rows();
}

const PeerRow* Store::peer(delivery::PeerKey key) const noexcept {
  return body_->parts->peers.find(key);
}

const std::string& Store::sessionName(delivery::SessionKey key) const {
  return body_->parts->discovery.sessionName(key);
}

const std::string& Store::origin() const noexcept {
  return body_->origin;
}

std::filesystem::path Store::logFile() const {
  return sqlite3_filename_wal(sqlite3_db_filename(body_->connection.handle(), "main"));
}

std::string Store::whyLogNotBatched() const {
  return body_->connection.whyLogNotBatched();
}

std::filesystem::path Store::ownersFile() const {
  return store::ownersFile(body_->connection.handle(), body_->connection.prefix());
}

std::uint64_t Store::epoch() const noexcept {
  return body_->epoch;
}

std::int64_t Store::owner() const noexcept {
  return body_->parts->context.owner;
}

SQLite::Database& Store::database() noexcept {
  return body_->connection.database();
}

}  // namespace ackbox::store
