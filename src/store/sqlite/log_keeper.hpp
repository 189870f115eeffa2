#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "sqlite/checkpointer.hpp"
#include "sqlite/connection.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/sqlite_names.hpp"
#include "store/types.hpp"

namespace ackbox::store::sqlite {

/// While this object lives, the connection waits for no lock.
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

/// Checkpoints the log when it has grown, and mends it after a failed sync: until then nothing is durable, and no
/// checkpoint may be made. docs/batched_log.md says why.
///
/// Thread-safety: none, but `health` may be called from any thread.
class LogKeeper {
public:
  /// `liveness` shows other processes whether the log is doubtful.
  LogKeeper(Connection& connection, const OutboxOptions& options, std::shared_ptr<Liveness> liveness);
  /// Mends a doubtful log, so that closing the connection may checkpoint it.
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  /// In the transaction of an opening. `isShared`: other processes have the file open, to which the kernel reports a
  /// failed sync. Throws `ioError`.
  void opened(bool isShared);
  /// At the start of a transaction, which has written nothing yet. Throws `ioError` if the transaction must not write,
  /// or would not be durable. Costs nothing while the log is not doubtful. For a time after a failed attempt to mend
  /// the log, throws the exception of that attempt without another one, so that not each call writes to a bad disk.
  void requireFit(bool isDurable);
  /// In such a transaction. Throws `ioError`.
  void mend();
  /// Outside a transaction: after a commit that went well, and after one that failed.
  void committed() noexcept;
  void failed() noexcept;

  /// See `Checkpointer`.
  bool makeRoom() noexcept;
  void roomDidNotHelp() noexcept { checkpointer_.roomDidNotHelp(); }
  void request() noexcept { checkpointer_.request(); }
  void retry() noexcept { checkpointer_.retry(); }

  [[nodiscard]] SyncHealth health() const noexcept;

private:
  /// Mends the log if an attempt is due. Returns whether the log is no longer doubtful.
  bool mendNow() noexcept;
  /// Checks whether a sync has failed.
  void look() noexcept;
  /// Shows the doubt to processes that open the file later.
  void show() noexcept;
  /// Shows the doubt to those processes and to other threads.
  void publish() noexcept;

  // Constant after construction.
  Connection& connection_;
  const OutboxOptions& options_;
  const std::shared_ptr<Liveness> liveness_;
  Checkpointer checkpointer_;

  // The time of the next attempt, and the exception of the last one.
  SteadyTime mendDue_{};
  std::exception_ptr mendFailure_;
  bool isHidden_ = false;
  // One atomic word, because it is read for each message.
  std::atomic<std::uint64_t> health_ = 0;
};

}  // namespace ackbox::store::sqlite
