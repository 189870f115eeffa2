#pragma once

#include <memory>
#include <string>
#include <system_error>

namespace ackbox {

/// Failures of the environment or of the caller's contract. Each value names a cause and a remedy; expected outcomes
/// (a full queue, a duplicate) are return values instead, see `EnqueueStatus`.
///
/// Values are stable: never renumber.
enum class Errc {
  /// Another connection, or this thread's own transaction, held SQLite's write lock for longer than
  /// `OutboxOptions::busyTimeout`. Call again, or raise the timeout; inside a transaction of the application's own, use
  /// `OutboxWriter`.
  databaseBusy = 1,
  /// The file or its folder cannot be written by this process. Correct the permissions, or open another path.
  databaseReadOnly = 2,
  /// The file was written by a newer ackbox. Upgrade this program; the file is untouched.
  schemaTooNew = 3,
  /// The file is not an SQLite database. Check the path; the file is untouched.
  notADatabase = 4,
  /// SQLite found the file damaged. Restore a backup or run `sqlite3 FILE .recover`; the file is untouched.
  databaseCorrupt = 5,
  /// The disk, or a quota, is full. Free space; acknowledged messages are safe, and the failed call changed nothing.
  diskFull = 6,
  /// Reading, writing or syncing failed below SQLite. The failed call may be repeated once the device works again.
  ioError = 7,
  /// The path cannot be opened: a missing folder, or a folder instead of a file. Check the path.
  cannotOpen = 8,
  /// The outbox's tables are missing, and `OutboxOptions::createSchema` is off or the file was opened for reading only.
  /// Check the path and `tablePrefix`, or turn the option on.
  schemaMissing = 9,
  /// An option is outside its range. The message names the field and its range: give it another value.
  invalidOption = 10,
  /// The manager must not be running for this operation: `drainOnce` while it is started, or a run while claims are not
  /// settled, for example. Call `OutboxManager::stop` first.
  alreadyRunning = 11,
  /// The manager was stopped or closed before the operation could finish; the operation had no effect. Repeat it after
  /// the next open.
  stopped = 12,
  /// The message, or the claim, is in a state that does not allow this change. Check its state; usually another process
  /// was faster, and nothing needs to be done.
  invalidTransition = 13,
  /// No message has this id. Check the id; an acknowledged message is gone unless `OutboxOptions::ackedRetention` keeps
  /// it.
  unknownMessage = 14,
  /// No sender was set. Call `setSender` or `setSendFunction` before `start`.
  noSender = 15,
  /// A handler ended the transaction that it was given. Its frame was refused; the rest of the batch was
  /// kept. Leave BEGIN, COMMIT and ROLLBACK to ackbox; savepoints are fine.
  handlerEndedTransaction = 16,
  /// The connection given to an `OutboxWriter` cannot promise durability: its `synchronous` is below FULL inside a
  /// transaction. Make the writer before BEGIN.
  notDurable = 17,
  /// The connection given to an `OutboxWriter` is not in a transaction. Begin one first.
  noTransaction = 18,
  /// SQLite ran out of memory. Free some, and call again.
  outOfMemory = 19,
  /// Any other failure of SQLite. The message carries SQLite's text and extended code, which say what to do.
  databaseError = 20,
  /// A server could not listen on its address: it is taken, or not this machine's. Choose another.
  cannotListen = 21,
  /// A blocking call on the store's own thread (in a frame handler, or in the callback of `enqueueThen`) would wait for
  /// itself. In a handler use `InboundTransaction::enqueue`; elsewhere `enqueueThen` or `asyncEnqueue`.
  wouldDeadlock = 22,
  /// No peer of this name is in the file. Check the name; peers are added to the file by `OutboxOptions::peers`.
  unknownPeer = 23,
  /// The file was replaced, or a backup restored over it, while this process had it open: what this process knows is of
  /// another file. Nothing was written. Restart the process, with the newer file if there is one. Of a database: its
  /// outbox was made a new store while this process had lost its connection.
  databaseReplaced = 24,
  /// The process may open no more files or sockets. Raise its limit (`ulimit -n`, or `LimitNOFILE` of its service);
  /// what is already open keeps working.
  outOfDescriptors = 25,
  /// A file or an environment variable that secrets come from cannot be read. The message names it and the cause: check
  /// the path and its permissions.
  secretsUnreadable = 26,
  /// This process is a child forked from the one that opened the outbox, and has neither its threads nor its locks; or
  /// the parent had the file open at the fork, and SQLite here would take it for locked already. Nothing was read or
  /// written. Fork before opening, or let the child execute a program (`exec`, `posix_spawn`).
  otherProcess = 27,
  /// The file's tables were made by a build from before the first release, which no release can read. Deliver its
  /// messages with that build, and start with a new file; this one is untouched.
  schemaTooOld = 28,
  /// The tables are of an earlier version than this release's. Run `ackbox migrate`, or call
  /// `OutboxOperator::migrateFile`, while no process has the outbox open; of a database, `migrateDatabase` at any time.
  /// The tables are untouched.
  schemaOutdated = 29,
  /// The PostgreSQL database is reached through a pooler, which keeps neither locks nor prepared statements. Connect to
  /// the server itself; a `PgOutboxWriter` works behind a pooler.
  pooledConnection = 30,
  /// The outbox was moved to a PostgreSQL database (`ackbox move`), or is being moved. Open the database that the
  /// message names; run the command again if it was interrupted. The file is untouched.
  databaseMoved = 31,
  /// The connection to a PostgreSQL database was lost during the commit, and its server cannot say whether the commit
  /// was made. An enqueue may be repeated with the same `Frame::id` or idempotency key, which stores the message once;
  /// of any other call, look at what it changes first.
  outcomeUnknown = 32,
};

/// The category of `Errc`; messages name cause and remedy.
[[nodiscard]] const std::error_category& errorCategory() noexcept;

[[nodiscard]] std::error_code make_error_code(Errc errc) noexcept;

/// True when the same call can succeed later without any change by the caller: `databaseBusy`, `diskFull`, `ioError`,
/// `outOfMemory`.
[[nodiscard]] bool isRetryable(const std::error_code& error) noexcept;

/// The exception of ackbox's synchronous functions; `code()` is an `Errc`, `what()` adds the circumstances.
class Error : public std::system_error {
public:
  Error(Errc errc, const std::string& circumstances) : std::system_error(make_error_code(errc), circumstances) {}
};

/// An option that cannot be used; thrown by the functions that take options. `code()` is `invalidOption`; `what()` has
/// the field, the problem and the allowed values. The option's value stays as the caller set it.
class OptionError : public Error {
public:
  /// `allowed` may be empty if `problem` names the remedy itself. Both put the names of other options in backquotes.
  OptionError(std::string field, std::string problem, std::string allowed = {});

  /// The option's path in the given structure, such as `batchFrames` or `peers[0].secrets`.
  [[nodiscard]] const std::string& field() const noexcept;
  /// What is wrong with its value, such as "is 0". Secrets are not shown.
  [[nodiscard]] const std::string& problem() const noexcept;
  /// The values that it may have, such as "1 to 256"; empty where `problem` says what to do.
  [[nodiscard]] const std::string& allowed() const noexcept;

private:
  struct Parts;
  // Shared, so that a copy of the exception cannot throw.
  std::shared_ptr<const Parts> parts_;
};

}  // namespace ackbox

template <>
struct std::is_error_code_enum<ackbox::Errc> : std::true_type {};
