#pragma once

#include <string>
#include <system_error>

namespace ackbox {

/// Failures of the environment or of the caller's contract. Each value names a cause and a remedy; expected outcomes
/// (a full queue, a duplicate) are return values instead, see `EnqueueStatus`.
///
/// Values are stable: never renumber.
enum class Errc {
  /// Another connection held SQLite's write lock for longer than `OpenOptions::busyTimeout`. Retry.
  databaseBusy = 1,
  /// The file or its folder cannot be written by this process. Mend the permissions, or open another path.
  databaseReadOnly = 2,
  /// The file was written by a newer ackbox. Upgrade this program; the file is untouched.
  schemaTooNew = 3,
  /// The file is not an SQLite database. Check the path; the file is untouched.
  notADatabase = 4,
  /// SQLite found the file damaged. Restore a backup or run `sqlite3 FILE .recover`; the file is untouched.
  databaseCorrupt = 5,
  /// The disk is full. Free space; what was acknowledged is safe, the failed call changed nothing.
  diskFull = 6,
  /// Reading, writing or syncing failed below SQLite. The failed call may be repeated once the device is well.
  ioError = 7,
  /// The path cannot be opened: a missing folder, or a folder instead of a file.
  cannotOpen = 8,
  /// The schema is missing and `OpenOptions::createSchema` is off. Create it, or turn the option on.
  schemaMissing = 9,
  /// An option is outside its range; the message names the field.
  invalidOption = 10,
  /// The operation needs the manager not to run (`drainOnce` while started).
  alreadyRunning = 11,
  /// The manager was stopped or closed before the operation could finish; nothing of it happened.
  stopped = 12,
  /// A state change that the transition table does not contain.
  invalidTransition = 13,
  /// No message has this id.
  unknownMessage = 14,
  /// No sender was set: call `setSender` or `setSendFunction` before `start`.
  noSender = 15,
  /// A handler ended the transaction that it was given. Its frame was refused; the rest of the batch was kept.
  handlerEndedTransaction = 16,
  /// The connection given to an `OutboxWriter` cannot keep P1: its `synchronous` is below FULL inside a transaction.
  notDurable = 17,
  /// The connection given to an `OutboxWriter` is not in a transaction.
  noTransaction = 18,
  /// SQLite ran out of memory.
  outOfMemory = 19,
  /// Any other SQLite failure; the message carries SQLite's text and extended code.
  databaseError = 20,
  /// A server could not listen on its address.
  cannotListen = 21,
  /// A blocking call on the store's own thread (in a frame handler, or in the callback of `enqueueThen`), which would
  /// wait for itself. In a handler use `InboundTransaction::enqueue`; elsewhere `enqueueThen` or `asyncEnqueue`.
  wouldDeadlock = 22,
  /// No peer of this name is in the file. Check the name; peers come into the file with `OutboxOptions::peers`.
  unknownPeer = 23,
  /// The file was replaced, or a backup restored over it, while this process had it open: what this process knows of it
  /// is of another file. Nothing was written. Restart the process, with the newer file if there is one.
  databaseReplaced = 24,
  /// The process may open no more files, or no more sockets. Raise its limit (`ulimit -n`, or `LimitNOFILE` of its
  /// service); what was open goes on.
  outOfDescriptors = 25,
};

/// The category of `Errc`; messages name cause and remedy.
[[nodiscard]] const std::error_category& errorCategory() noexcept;

[[nodiscard]] std::error_code make_error_code(Errc errc) noexcept;

/// True when the same call can succeed later without any change by the caller: `databaseBusy`, `diskFull`, `ioError`,
/// `outOfMemory`.
[[nodiscard]] bool isRetryable(const std::error_code& error) noexcept;

/// What ackbox's synchronous functions throw; `code()` is an `Errc`, `what()` adds the circumstances.
class Error : public std::system_error {
public:
  Error(Errc errc, const std::string& circumstances) : std::system_error(make_error_code(errc), circumstances) {}
};

}  // namespace ackbox

template <>
struct std::is_error_code_enum<ackbox::Errc> : std::true_type {};
