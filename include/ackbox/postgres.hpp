#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/file_info.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"

// libpq's `PGconn`.
struct pg_conn;

namespace ackbox {

class InboundTransaction;
class OutboxManager;

/// Where an outbox in PostgreSQL is: for `OutboxManager::open` and `OutboxReader::open`. Its tables are in the schema
/// `ackbox` of the database, which several hosts may have open; `OutboxManager::open` makes them.
///
/// Of `OutboxOptions`, `trustSchema` and `vfs` have no meaning here, and another `tablePrefix` than the default is
/// refused. `durability` is as strong as the server's `synchronous_commit`, which is turned on where it is off.
struct PostgresLocation {
  /// A URL or a connection string of libpq, such as `postgres://agent@db.example/orders`. It must lead to the server
  /// itself and not to a pooler (`Errc::pooledConnection`). Keepalives are set, so that a host that has gone is noticed
  /// after 5 s, unless this text sets its own.
  std::string text = {};
};

/// Enqueues on the caller's own connection of libpq, inside the caller's own transaction: the frames commit or roll
/// back with the business data (P2 in ARCHITECTURE.md). A statement of any other client does the same: `SELECT * FROM
/// ackbox.enqueue(peer, session, type, data, …)`.
///
/// The transaction may be READ COMMITTED, REPEATABLE READ or SERIALIZABLE, and the connection may lead to a pooler.
/// Enqueues to one session wait for the end of each other's transactions. Two transactions that enqueue to two sessions
/// in opposite orders may be a deadlock, which the server ends for one of them: enqueue in the order of the names, and
/// repeat a transaction that failed with `databaseBusy`. Under REPEATABLE READ and SERIALIZABLE that also happens where
/// the session's last message was settled after the transaction's first statement.
///
/// Thread-safety: that of the connection; one thread at a time.
/// Lifetime: must be destroyed before the connection; may outlive the manager.
class PgOutboxWriter {
public:
  /// For any process, with or without a manager. Of `options` it uses the limits and `durability`: a transaction in
  /// which `synchronous_commit` is off gets it on, unless that is `processCrash`. The peers are those of the database.
  /// A manager finds the messages at its next poll.
  ///
  /// Throws `Error`: `schemaMissing`, `schemaTooNew`, `schemaTooOld`, `schemaOutdated`, `ioError`, `databaseError`;
  /// `databaseBusy` while the tables are being migrated; `invalidOption` for an option, or a `client_encoding` of the
  /// connection other than UTF8. A transaction that the connection is in may have failed then.
  explicit PgOutboxWriter(pg_conn* connection, OutboxOptions options = {});
  /// With the options of `manager`, and the peers that these name: those of the database too with `adoptPeers`, but not
  /// those that were added at run time without it. Throws the same. `OutboxManager::notify` after the commit saves the
  /// wait for a poll.
  PgOutboxWriter(OutboxManager& manager, pg_conn* connection);
  PgOutboxWriter(const PgOutboxWriter&) = delete;
  PgOutboxWriter& operator=(const PgOutboxWriter&) = delete;
  ~PgOutboxWriter();

  /// Adds `frame` to the caller's open transaction. Durable when that commits.
  ///
  /// Returns the receipt; a refusal leaves the transaction as it was. Throws `Error`: `noTransaction`, `databaseBusy`
  /// (repeat the transaction), `schemaTooNew` (the tables were migrated since: a later release is needed), and those of
  /// `OutboxManager::enqueue`; after any but `noTransaction` the transaction has
  /// failed, as after any statement that fails, and can only be rolled back, at least to a savepoint.
  EnqueueReceipt enqueue(const Frame& frame);

  /// The same for each subscriber of the frame, see `OutboxManager::publish`.
  PublishReceipt publish(const Frame& frame);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The store's connection, inside the handler's transaction, where the store is in PostgreSQL; the place of
/// `InboundTransaction::database`. Do not begin, commit or roll back a transaction; savepoints are allowed, and what
/// was enqueued in one is undone with it, behind however many enqueues. After an enqueue that throws, the transaction
/// has failed, as after any statement that fails: undo a savepoint around it, or do not answer `ack`. A frame whose
/// handler ends the transaction, or answers `ack` after a statement that failed, is refused.
///
/// Throws `Error` with `databaseError` for a transaction of another store.
[[nodiscard]] pg_conn* connectionOf(InboundTransaction& transaction);

/// What `moveOutbox` did.
struct MoveReport {
  /// The outbox's identity, which its peers know: it stays.
  std::string origin = {};
  /// The rows of all tables that were copied; 0: an earlier call had copied them.
  std::uint64_t rows = 0;
};

/// Called now and then with the number of rows of a table that were copied so far.
using MoveProgress = std::function<void(std::string_view table, std::uint64_t rows)>;

/// Moves the outbox of a file to a database that has none, as `ackbox move`: all messages, sessions, peers, marks and
/// figures, under the same identity and numbers, so that its peers notice nothing. The file is marked, and from then on
/// no program opens it (`Errc::databaseMoved`); it keeps all that it had. The database gets all of it in one
/// transaction, and nothing else opens the database meanwhile.
///
/// A call that was interrupted is repeated with the same database until it returns: nothing is lost or doubled. So is
/// one that has thrown `ioError`. A call for a file that was moved to this database returns without a change.
///
/// No other process may have the file open: end agents, and applications that write by an `OutboxWriter` or by the
/// loadable extension; what one of these enqueues meanwhile is refused.
///
/// Throws `Error` as both openings do; `alreadyRunning` if a process has the file open; `databaseCorrupt` if the file
/// breaks an invariant, see `OutboxReader::verify`; `invalidOption` if the database has another outbox; `databaseMoved`
/// if the file was moved, or its move was begun, to another database, if it is an older copy of one that was moved to
/// this one, or if this one has lost it. Then the file is as it was, unless the connection was lost at the end
/// (`ioError`).
MoveReport moveOutbox(const std::filesystem::path& file, const PostgresLocation& to, OutboxOptions options = {},
                      const MoveProgress& progress = {});

/// Brings the tables of the database to this release's version, which `OutboxManager::open` needs (`schemaOutdated`),
/// in one transaction. A process that dies meanwhile, or a connection that ends, leaves them as they were. Does nothing
/// to tables that have the version already. No copy is made: make one with `pg_dump` before.
///
/// Processes may have the database open. Those that know version `MigrationReport::least` of the tables, or a later
/// one, go on; the others change nothing any more (`schemaTooNew`). All wait until it is done, for `busyTimeout` at
/// most, and then try again. `announce` is called, if there is one, before the first change.
///
/// Throws `Error` as `OutboxManager::open`, and what `announce` throws; `databaseBusy` if another process is migrating
/// the tables, or a transaction has one of them in use, for longer than `busyTimeout`. Then the tables were not
/// changed, unless the connection was lost at the end (`ioError`): call it again.
MigrationReport migrateDatabase(const PostgresLocation& location, OutboxOptions options = {},
                                const std::function<void(const MigrationReport& planned)>& announce = {});

/// Returns what `migrateDatabase` would do, and changes nothing. Throws `Error` as `OutboxReader::open`, but not for an
/// earlier version.
[[nodiscard]] MigrationReport previewMigration(const PostgresLocation& location, OutboxOptions options = {});

/// Makes the outbox in the database another store, as `OutboxOperator::makeNewStore` that in a file: after the server
/// went back to an earlier state, by a restore or by the promotion of a standby that lacked commits.
///
/// No process may have the database open. One that had it open, and lost its connection, does not go on
/// (`databaseReplaced`). Throws `Error` as `OutboxManager::open`, `alreadyRunning`, `databaseBusy` as
/// `migrateDatabase`, and `databaseError` if an invariant is broken; then nothing was changed, unless the connection
/// was lost at the end
/// (`ioError`).
NewStoreReport makeNewStore(const PostgresLocation& location, OutboxOptions options = {});

}  // namespace ackbox
