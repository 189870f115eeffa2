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
        std::shared_ptr<Liveness> liveness, LatencyWindow& window)
      : counters(connection.handle(), connection.prefix()),
        states(connection.handle(), connection.prefix()),
        lazyRows(connection.handle(), connection.prefix(), counters, states),
        oldest(connection.handle(), connection.prefix(), counters),
        inFlight(connection, states),
        shares(connection.handle(), connection.prefix(), counters),
        latencies(window, *options.clock),
        rows(connection.handle(), connection.prefix()),
        gathered(rows, claimCache),
        context{connection, counters,  states,   lazyRows, oldest,         inFlight,       claimCache,
                shares,     latencies, gathered, options,  *options.clock, *options.random},
        discovery(context, transaction),
        peers(context),
        peerResets(context, peers, discovery),
        holds(context),
        outbox(context, peers, rows, discovery),
        claims(context),
        settles(context, holds, peerResets),
        deadLetters(context, outbox, settles, holds),
        marks(context),
        inbox(context),
        owners(context, std::move(liveness)),
        vacuum(connection),
        selectEpoch(connection.prepare("SELECT epoch FROM #meta")) {}

  template <typename Step>
  void forward(const Step& step) {
    for (WriteBack* const part : writeBacks) {
      step(*part);
    }
  }
  template <typename Step>
  void backward(const Step& step) {
    for (auto part = writeBacks.rbegin(); part != writeBacks.rend(); ++part) {
      step(**part);
    }
  }

  Counters counters;
  SessionStates states;
  LazySessionRows lazyRows;
  Oldest oldest;
  InFlight inFlight;
  ClaimCache claimCache;
  SenderShares shares;
  AckLatencies latencies;
  OutboxRows rows;
  GatheredRows gathered;
  Context context;
  Discovery discovery;
  Peers peers;
  PeerResets peerResets;
  Holds holds;
  Outbox outbox;
  Claims claims;
  Settles settles;
  DeadLetters deadLetters;
  InboundMarks marks;
  Inbox inbox;
  Owners owners;
  Vacuum vacuum;
  Statement selectEpoch;

  /// All memory that runs ahead of the file. The order is that of a commit.
  const std::vector<WriteBack*> writeBacks = {
      // New rows come first: what follows looks at the outbox's rows.
      &gathered,
      // Claims name rows and sessions. What was acknowledged goes from here into the sessions' states.
      &inFlight,
      // Tails and gauges of sessions go from here, and from the counters, into the sessions' states.
      &lazyRows,
      // So all changes of a session are written as one row.
      &states,
      // Marks of inbound frames, and what they make their senders' shares.
      &marks,
      &shares,
      // Looks at the rows that are left, and moves a counter.
      &oldest,
      // After all that counts. Only now is known whether the gauges must be counted anew.
      &counters,
      // The others write nothing. These hand over what is committed: latencies to the window, rows to discovery, and
      // then recalls, for which discovery starts over.
      &latencies,
      &outbox,
      &peerResets,
      // These only remember what was read.
      &claimCache,
      &holds,
      &owners,
  };
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

  void open(std::shared_ptr<Liveness> liveness);
  void readEpoch();
  RepairReport recount(bool byHand);

  // Constant after construction.
  const OutboxOptions options;
  Connection connection;
  Checkpointer checkpointer;
  Transaction transaction;
  LatencyWindow latencies;
  std::unique_ptr<Parts> parts;
  std::string origin;

  // As of the last `begin`.
  std::uint64_t epoch = 0;
  // As of the last commit that was seen: neither ever falls.
  std::uint64_t epochSeen = 0;
  std::int64_t lastKeySeen = 0;
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
    parts->forward([](WriteBack& part) { part.flushAll(); });
    transaction.commit();
    parts->forward([](WriteBack& part) { part.committed(); });
  } catch (...) {
    transaction.rollback();
    throw;
  }
}

// In one transaction, so that a crash in the middle leaves the file as it was.
void Store::Body::open(std::shared_ptr<Liveness> liveness) {
  const std::int64_t version = schemaVersion(connection.handle(), connection.prefix());
  requireUsable(version, options.createSchema);
  if (version == 0) {
    createTables(connection.handle(), connection.prefix());
  }
  Statement identify = connection.prepare(
      "INSERT INTO #meta(id,origin,epoch) VALUES(1,?1,1) ON CONFLICT(id) DO UPDATE SET epoch=epoch+1");
  Query(identify, randomUuid(*options.random)).run();
  Statement selectOrigin = connection.prepare("SELECT origin FROM #meta");
  Query query(selectOrigin);
  query.next();
  origin = query.text(0);

  parts = std::make_unique<Parts>(connection, transaction, options, std::move(liveness), latencies);
  parts->backward([](WriteBack& part) { part.begun(true); });
  readEpoch();
  parts->peers.configure();
  parts->owners.registerSelf();
  parts->owners.releaseDead();
}

// What is in memory, and which rows were discovered, is of another file when a backup is written over one in use.
void Store::Body::readEpoch() {
  {
    Query query(parts->selectEpoch);
    query.next();
    epoch = query.as<std::uint64_t>(0);
  }
  const std::int64_t lastKey = parts->counters.writtenLastKey();
  if (epoch < epochSeen || lastKey < lastKeySeen) {
    throw Error(Errc::databaseError,
                "the file went back to an earlier state while this process had it open: restart the process, with the "
                "newer file if there is one");
  }
  epochSeen = epoch;
  lastKeySeen = lastKey;
}

RepairReport Store::Body::recount(bool byHand) {
  parts->forward([](WriteBack& part) { part.flushAll(); });
  RepairReport report = store::recount(connection.handle(), connection.prefix(), byHand);
  parts->backward([](WriteBack& part) { part.forget(); });
  if (report.mended != 0) {
    // Rows may be live that nobody has discovered.
    parts->peerResets.refresh();
  }
  return report;
}

Store::Store(const StoreOptions& options) : body_(std::make_unique<Body>(options)) {}

Store::~Store() {
  if (inTransaction()) {
    rollback();
  }
  try {
    begin(false);
    body_->parts->owners.unregisterSelf();
    body_->parts->forward([](WriteBack& part) { part.flushAll(); });
    commit();
  } catch (const std::exception&) {
    // The next opener finds this owner dead and does the same.
  }
}

void Store::begin(bool durable, bool patient) {
  const bool fullSync = durable && body_->options.durability == Durability::powerCut;
  std::optional<NoBusyTimeout> noBusyTimeout;
  if (!patient) {
    noBusyTimeout.emplace(body_->connection.handle(), body_->options);
  }
  const bool isChanged = body_->transaction.begin(fullSync);
  try {
    body_->parts->backward([isChanged](WriteBack& part) { part.begun(isChanged); });
    if (isChanged) {
      body_->readEpoch();
    }
  } catch (...) {
    rollback();
    throw;
  }
}

void Store::commit() {
  Parts& parts = *body_->parts;
  std::int64_t lastKey = 0;
  try {
    parts.forward([](WriteBack& part) { part.flush(); });
    if (parts.counters.isDoubtful()) {
      body_->recount(false);
    }
    lastKey = parts.counters.writtenLastKey();
    body_->transaction.commit();
  } catch (...) {
    rollback();
    throw;
  }
  body_->lastKeySeen = lastKey;
  parts.forward([](WriteBack& part) { part.committed(); });
  body_->checkpointer.checkpointIfDue();
}

void Store::rollback() noexcept {
  body_->transaction.rollback();
  // What was read in it, such as which processes have the file open, is read again.
  body_->transaction.doubtVersion();
  body_->parts->backward([](WriteBack& part) { part.rolledBack(); });
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
  return body_->parts->outbox.takeSuperseded();
}

ClaimReply Store::claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls,
                        std::uint64_t bytesMax) {
  return body_->parts->claims.claim(sessions, recalls, bytesMax);
}

std::vector<std::optional<SettledMessage>> Store::settle(std::span<const delivery::Settlement> settlements) {
  return body_->parts->settles.settle(settlements);
}

void Store::release(std::span<const delivery::SessionRelease> releases) {
  body_->parts->claims.endClaims(releases);
}

void Store::recordPeer(const delivery::PeerRecord& record) {
  body_->parts->peers.record(record);
}

std::optional<PeerResetEvent> Store::recordIdentity(const delivery::PeerIdentity& identity) {
  return body_->parts->peerResets.recordIdentity(identity);
}

std::optional<AckedById> Store::ackById(std::string_view messageId) {
  return body_->parts->settles.ackById(messageId);
}

AckEventOutcome Store::applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                     const FrameResult& word, std::string_view origin) {
  return body_->parts->settles.applyAckEvent(agent, messageId, sequence, word, origin);
}

std::size_t Store::purgeAcked(std::size_t limit) {
  return body_->parts->settles.purgeAcked(limit, body_->options.clock->wallNow());
}

std::size_t Store::purgeAcked(std::size_t limit, std::chrono::milliseconds age) {
  // The row says until when it is kept, which is the acknowledgement plus the retention.
  return body_->parts->settles.purgeAcked(limit, body_->options.clock->wallNow() + body_->options.ackedRetention - age);
}

RepairReport Store::repair() {
  RepairReport report = body_->recount(true);
  body_->parts->holds.refresh();
  return report;
}

void Store::advanceOldest(std::size_t looks) {
  body_->parts->gathered.flush();
  body_->parts->oldest.advance(looks);
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
  return body_->parts->deadLetters;
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
  body_->parts->forward([](WriteBack& part) { part.scopeBegun(); });
  body_->transaction.savepoint();
}

void Store::releaseSavepoint() {
  body_->transaction.releaseSavepoint();
  body_->parts->backward([](WriteBack& part) { part.scopeReleased(); });
}

void Store::rollbackToSavepoint() {
  body_->transaction.rollbackToSavepoint();
  body_->parts->backward([](WriteBack& part) { part.scopeUndone(); });
}

void Store::guardTransaction(bool on) {
  body_->transaction.guard(on);
}

bool Store::transactionLost() const noexcept {
  return body_->transaction.lost();
}

NewRows Store::takeNewRows(std::size_t limit) {
  NewRows found = body_->parts->discovery.take(limit);
  Holds& holds = body_->parts->holds;
  try {
    // After the rows, so that no row is discovered without the holds that came before it.
    if (body_->parts->discovery.hasScanned()) {
      holds.refresh();
    }
    found.holds = holds.takeChanged();
  } catch (const std::exception&) {
    // The rows are taken; the next call takes the holds.
    holds.restart();
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

std::size_t Store::releaseDeadOwners() {
  return body_->parts->owners.releaseDead();
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

std::filesystem::path Store::ownersFile() const {
  return store::ownersFile(body_->connection.handle(), body_->connection.prefix());
}

const LatencyWindow& Store::latencies() const noexcept {
  return body_->latencies;
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
