#include "store/sqlite/outbound/application_writer.hpp"

#include <map>
#include <string>
#include <utility>

#include "sqlite/statement.hpp"
#include "sqlite/step_savepoint.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/enqueue_steps.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr int kSqliteAutocheckpointPages = 1'000;

// Checked before any statement is prepared on the tables.
sqlite3* accept(sqlite3* connection, const OutboxOptions& options) {
  requireVersion(connection, options.tablePrefix, false);
  const auto isFull = [connection] { return std::stoi(scalar(connection, "PRAGMA synchronous")) >= 2; };
  if (options.durability == Durability::powerCut && !isFull()) {
    if (sqlite3_get_autocommit(connection) == 0) {
      throw Error(Errc::notDurable, "synchronous cannot be raised inside a transaction");
    }
    execute(connection, "PRAGMA synchronous=FULL");
    if (!isFull()) {
      throw Error(Errc::notDurable, "SQLite did not take synchronous=FULL");
    }
  }
  return connection;
}

}  // namespace

// The objects that the steps of an enqueue use; constructed before them.
struct ApplicationTables {
  ApplicationTables(sqlite3* connection, const OutboxOptions& givenOptions)
      : handle(accept(connection, givenOptions)),
        options(givenOptions),
        clock(options.clock ? options.clock : systemClock()),
        random(options.random ? options.random : systemRandom()),
        rows(handle, options.tablePrefix),
        counters(handle, options.tablePrefix),
        states(handle, options.tablePrefix),
        lazyRows(handle, options.tablePrefix, counters, states) {}

  sqlite3* const handle;
  const OutboxOptions options;
  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<Random> random;
  OutboxRows rows;
  Counters counters;
  SessionStates states;
  LazySessionRows lazyRows;
};

// Keeps no state between two calls, because the caller's transaction may be rolled back at any time.
struct ApplicationWriter::Impl final : private ApplicationTables, private EnqueueSteps {
  Impl(sqlite3* connection, const OutboxOptions& givenOptions, std::function<void()> givenCommitted)
      : ApplicationTables(connection, givenOptions),
        EnqueueSteps(handle, options, *clock, *random, rows, counters, lazyRows),
        committed(std::move(givenCommitted)),
        selectPeer(handle, "SELECT id FROM #peers WHERE name=?1 AND removed_at_ms=0", options.tablePrefix),
        // Looks at 256 rows at most: behind more dead letters, the gauges are trusted.
        selectAny(handle,
                  "SELECT count(*)=256 OR coalesce(sum(state IN (0,2)),0)>0 FROM (SELECT state FROM #outbox WHERE "
                  "id>=(SELECT oldest_key FROM #counters) ORDER BY id LIMIT 256)",
                  options.tablePrefix),
        selectSubscriptions(handle, kSelectSubscriptions, options.tablePrefix),
        step(handle, "#counters", options.tablePrefix),
        spill(scalar(handle, "PRAGMA cache_spill")) {
    for (const PeerOptions& peer : configuredPeers(options)) {
      Query query(selectPeer, peer.name);
      if (query.next()) {
        peers.emplace(peer.name, query.integer(0));
      }
    }
    // Replaces the automatic checkpoint, which is passive and could race the store's commits.
    sqlite3_wal_hook(handle, &Impl::onCommit, this);
    // A refused enqueue rolls back a savepoint, which must not happen in a transaction that has spilled its cache: see
    // `Connection`.
    execute(handle, "PRAGMA cache_spill=OFF");
  }
  ~Impl() override {
    sqlite3_wal_autocheckpoint(handle, kSqliteAutocheckpointPages);
    // Fails only if SQLite is out of memory; spilling then stays off.
    sqlite3_exec(handle, ("PRAGMA cache_spill=" + spill).c_str(), nullptr, nullptr, nullptr);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static int onCommit(void* self, sqlite3* /*connection*/, const char* /*database*/, int /*pages*/) {
    const Impl& impl = *static_cast<Impl*>(self);
    if (impl.committed) {
      impl.committed();
    }
    return SQLITE_OK;
  }

  EnqueueReceipt enqueue(const Frame& frame);
  PublishReceipt publish(const Frame& frame);

private:
  /// Undoes what `work` did if it throws, or if `keeps` says so of its receipt.
  template <typename Work, typename Keeps>
  [[nodiscard]] auto inSavepoint(const Work& work, const Keeps& keeps);
  /// With `adoptPeers` also one that another process has added since.
  [[nodiscard]] std::optional<delivery::PeerKey> peerOf(const std::string& name);
  void beforeChange(const Frame& frame) override;
  [[nodiscard]] bool isNoneLive() override;
  [[nodiscard]] SessionTail& tailOf(const SessionName& session, std::uint8_t priority) override;
  void insert(NewRow&& row, const Frame& frame) override;

public:
  const std::function<void()> committed;
  std::map<std::string, delivery::PeerKey, std::less<>> peers;
  // The tail of the current enqueue's session.
  SessionTail tail;
  Statement selectPeer;
  Statement selectAny;
  Statement selectSubscriptions;
  StepSavepoint step;
  // The caller's setting: the pages of cache beyond which a transaction spills to the log before its commit; 0: never.
  const std::string spill;
};

ApplicationWriter::ApplicationWriter(sqlite3* connection, const OutboxOptions& options, std::function<void()> committed)
    : impl_(std::make_unique<Impl>(connection, options, std::move(committed))) {}

ApplicationWriter::~ApplicationWriter() = default;

EnqueueReceipt ApplicationWriter::enqueue(const Frame& frame) {
  return impl_->enqueue(frame);
}

PublishReceipt ApplicationWriter::publish(const Frame& frame) {
  return impl_->publish(frame);
}

template <typename Work, typename Keeps>
auto ApplicationWriter::Impl::inSavepoint(const Work& work, const Keeps& keeps) {
  if (sqlite3_get_autocommit(handle) != 0) {
    throw Error(Errc::noTransaction, "enqueue needs the caller's transaction");
  }
  step.begin();
  try {
    auto receipt = work();
    if (keeps(receipt)) {
      lazyRows.flushAll();
      states.flush();
      counters.flushAll();
    } else {
      step.rollback();
      return receipt;
    }
    step.release();
    return receipt;
  } catch (...) {
    step.undo();
    throw;
  }
}

EnqueueReceipt ApplicationWriter::Impl::enqueue(const Frame& frame) {
  return inSavepoint([&] { return run(frame, peerOf(frame.peer)); },
                     [](const EnqueueReceipt& one) { return one.isNew(); });
}

// A publish to nobody keeps its key.
PublishReceipt ApplicationWriter::Impl::publish(const Frame& frame) {
  return inSavepoint(
      [&] {
        SubscriptionList subscriptions;
        subscriptions.read(selectSubscriptions);
        return EnqueueSteps::publish(frame, subscriptions.subscribersOf(frame));
      },
      [](const PublishReceipt& one) { return one.isNew() || one.status == PublishStatus::noSubscriber; });
}

std::optional<delivery::PeerKey> ApplicationWriter::Impl::peerOf(const std::string& name) {
  if (const auto given = peers.find(name); given != peers.end()) {
    return given->second;
  }
  if (!options.adoptPeers) {
    return std::nullopt;
  }
  Query query(selectPeer, name);
  return query.next() ? std::optional(query.integer(0)) : std::nullopt;
}

void ApplicationWriter::Impl::beforeChange(const Frame& /*frame*/) {
  forgetExcess();
  counters.forget();
  states.forget();
  lazyRows.begun(true);
}

// Needed because foreign statements may leave wrong gauges, which the store recounts when it next writes.
bool ApplicationWriter::Impl::isNoneLive() {
  Query query(selectAny);
  return !query.next() || query.integer(0) == 0;
}

SessionTail& ApplicationWriter::Impl::tailOf(const SessionName& session, std::uint8_t priority) {
  const auto known = rows.findSession(session);
  tail = known ? *known : rows.insertSession(session, priority);
  return tail;
}

void ApplicationWriter::Impl::insert(NewRow&& row, const Frame& /*frame*/) {
  rows.insert({&row, 1});
}

}  // namespace ackbox::store::sqlite
