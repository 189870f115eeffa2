#include "store/sqlite/outbound/application_writer.hpp"

#include <map>
#include <string>
#include <utility>

#include "sqlite/connection.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/idempotency_keys.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/schema/schema.hpp"

namespace ackbox::store {
namespace {

constexpr int kSqliteAutocheckpointPages = 1'000;

// Checked before any statement is prepared on the tables.
sqlite3* accept(SQLite::Database& connection, const OutboxOptions& options) {
  sqlite3* const handle = connection.getHandle();
  requireUsable(schemaVersion(handle, options.tablePrefix), false);
  const auto isFull = [handle] { return std::stoi(scalar(handle, "PRAGMA synchronous")) >= 2; };
  if (options.durability == Durability::powerCut && !isFull()) {
    if (sqlite3_get_autocommit(handle) == 0) {
      throw Error(Errc::notDurable, "synchronous cannot be raised inside a transaction");
    }
    execute(handle, "PRAGMA synchronous=FULL");
    if (!isFull()) {
      throw Error(Errc::notDurable, "SQLite did not take synchronous=FULL");
    }
  }
  return handle;
}

}  // namespace

struct ApplicationWriter::Body {
  Body(SQLite::Database& connection, const OutboxOptions& givenOptions, std::function<void()> givenCommitted)
      : handle(accept(connection, givenOptions)),
        options(givenOptions),
        clock(options.clock ? options.clock : systemClock()),
        random(options.random ? options.random : systemRandom()),
        committed(std::move(givenCommitted)),
        rows(handle, options.tablePrefix),
        keys(handle, options.tablePrefix, options.idempotencyRetention),
        counters(handle, options.tablePrefix),
        states(handle, options.tablePrefix),
        tails(handle, options.tablePrefix, counters, states),
        selectPeer(handle, "SELECT id FROM #peers WHERE name=?1", options.tablePrefix),
        // Looks at no more than that: behind more dead letters, what the gauges say is believed.
        selectAny(handle,
                  "SELECT count(*)=256 OR coalesce(sum(state IN (0,2)),0)>0 FROM (SELECT state FROM #outbox WHERE "
                  "id>=(SELECT oldest_key FROM #counters) ORDER BY id LIMIT 256)",
                  options.tablePrefix),
        savepoint(handle, "SAVEPOINT #enqueue", options.tablePrefix),
        release(handle, "RELEASE #enqueue", options.tablePrefix),
        rollbackTo(handle, "ROLLBACK TO #enqueue", options.tablePrefix),
        spill(scalar(handle, "PRAGMA cache_spill")) {
    for (const PeerOptions& peer : configuredPeers(options)) {
      Query query(selectPeer, peer.name);
      if (query.next()) {
        peers.emplace(peer.name, query.integer(0));
      }
    }
    // Takes the place of the automatic checkpoint, which is passive and could race the store's commits.
    sqlite3_wal_hook(handle, &Body::onCommit, this);
    // An enqueue that is refused undoes a savepoint, which must not happen in a transaction that has outgrown the
    // cache: see `Connection`.
    execute(handle, "PRAGMA cache_spill=OFF");
  }
  ~Body() {
    sqlite3_wal_autocheckpoint(handle, kSqliteAutocheckpointPages);
    // Fails only where SQLite has no memory left; the connection then goes on not to spill.
    sqlite3_exec(handle, ("PRAGMA cache_spill=" + spill).c_str(), nullptr, nullptr, nullptr);
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  static int onCommit(void* self, sqlite3* /*connection*/, const char* /*database*/, int /*pages*/) {
    const Body& body = *static_cast<Body*>(self);
    if (body.committed) {
      body.committed();
    }
    return SQLITE_OK;
  }

  EnqueueReceipt store(const Frame& frame, delivery::PeerKey peer);
  [[nodiscard]] bool isEmpty();
  void undo() noexcept;

  sqlite3* const handle;
  const OutboxOptions options;
  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<Random> random;
  const std::function<void()> committed;
  std::map<std::string, delivery::PeerKey, std::less<>> peers;
  OutboxRows rows;
  IdempotencyKeys keys;
  Counters counters;
  SessionStates states;
  LazySessionRows tails;
  UuidGenerator uuids;
  Statement selectPeer;
  Statement selectAny;
  Statement savepoint;
  Statement release;
  Statement rollbackTo;
  // The caller's: pages of cache beyond which a transaction goes to the log before its commit; 0: never.
  const std::string spill;
};

ApplicationWriter::ApplicationWriter(SQLite::Database& connection, const OutboxOptions& options,
                                     std::function<void()> committed)
    : body_(std::make_unique<Body>(connection, options, std::move(committed))) {}

ApplicationWriter::~ApplicationWriter() = default;

EnqueueReceipt ApplicationWriter::enqueue(const Frame& frame) {
  if (sqlite3_get_autocommit(body_->handle) != 0) {
    throw Error(Errc::noTransaction, "enqueue needs the caller's transaction");
  }
  const auto peer = body_->peers.find(frame.peer);
  if (auto refusal = refuseFrame(frame, peer != body_->peers.end(), body_->options)) {
    return *refusal;
  }
  Query(body_->savepoint).run();
  try {
    EnqueueReceipt receipt = body_->store(frame, peer->second);
    if (!receipt.isNew()) {
      Query(body_->rollbackTo).run();
    }
    Query(body_->release).run();
    return receipt;
  } catch (...) {
    body_->undo();
    throw;
  }
}

// The same steps as the store's own enqueue, with nothing remembered between calls: the caller's transaction may be
// rolled back behind our back.
EnqueueReceipt ApplicationWriter::Body::store(const Frame& frame, delivery::PeerKey peer) {
  const WallTime now = clock->wallNow();
  if (auto repetition = keys.find(frame.idempotencyKey, now)) {
    return *repetition;
  }
  if (auto repetition = rows.repetitionOf(frame)) {
    return *repetition;
  }
  counters.forget();
  states.forget();
  tails.forget();
  tails.catchUp();
  const std::vector<Supersedable> leaving = rows.supersedable(peer, frame);
  if (auto refusal = refuseFull(frame, counters.live(), counters.liveBytes(), leaving, options);
      refusal && !isEmpty()) {
    return *refusal;
  }
  const SessionName name(peer, frame);
  const auto known = rows.findSession(name);
  const SessionTail before = known ? *known : rows.insertSession(name, frame.priority);
  const SessionTail tail = before.next(frame.priority);
  const delivery::MessageKey key = counters.value(Counter::lastKey) + 1;
  const MessageId id = messageIdFor(frame, uuids, *random, now, key);
  EnqueueReceipt receipt{EnqueueStatus::stored, id.text, tail.lastSequence, {}};
  const NewRow row(key, frame, id, tail, now);
  rows.insert({&row, 1});
  for (const Supersedable& message : leaving) {
    rows.supersede(message);
    counters.leave(message.session, MessageState::pending, 1, message.bytes);
    counters.add(Counter::superseded, 1);
    receipt.supersededId = message.messageId;
  }
  keys.remember(frame.idempotencyKey, receipt, now);
  counters.append(peer, static_cast<std::int64_t>(frame.data.size()));
  if (tail.unordered) {
    counters.addLive(tail.key);
  } else {
    tails.append(tail.key, tail.lastSequence, key);
    if (tail.priority != before.priority) {
      rows.updatePriority(tail);
    }
  }
  tails.writeAll();
  states.flush();
  counters.writeAll();
  return receipt;
}

// Foreign statements may leave gauges that say otherwise, which the store counts anew when it next writes.
bool ApplicationWriter::Body::isEmpty() {
  Query query(selectAny);
  return !query.next() || query.integer(0) == 0;
}

void ApplicationWriter::Body::undo() noexcept {
  counters.forget();
  try {
    Query(rollbackTo).run();
    Query(release).run();
  } catch (const Error&) {
    // SQLite ended the whole transaction (a full disk, an I/O error): nothing is left to undo.
  }
}

}  // namespace ackbox::store
