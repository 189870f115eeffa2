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

/// Folds the log into the file when it has grown, and mends it after a sync that failed: until then nothing is durable,
/// and nothing may be folded. docs/batched_log.md says why.
///
/// Thread-safety: none, but `health` may be called from any thread.
class LogKeeper {
public:
  /// `liveness`: where other processes look whether the log is doubtful.
  LogKeeper(Connection& connection, const OutboxOptions& options, std::shared_ptr<Liveness> liveness);
  /// Mends a doubtful log, so that it may be folded when the connection closes.
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  /// In the transaction of an opening. `isShared`: others have the file open, to which the kernel reports a sync that
  /// fails. Throws `ioError`.
  void opened(bool isShared);
  /// A transaction begins, which has written nothing yet. Throws `ioError` where it may not be written, or would not be
  /// durable. Costs nothing as long as the log is not doubtful. After a failed attempt to mend it, calls throw what
  /// that attempt threw, without another attempt, for a time: a disk that stays bad is not written to by each call.
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
  /// If an attempt is due. Whether it is no longer doubtful.
  bool mendNow() noexcept;
  /// What failed may have been a sync.
  void look() noexcept;
  /// To processes that come later.
  void show() noexcept;
  /// To them and to other threads.
  void publish() noexcept;

  // Constant after construction.
  Connection& connection_;
  const OutboxOptions& options_;
  const std::shared_ptr<Liveness> liveness_;
  Checkpointer checkpointer_;

  // The next attempt, and how the last one failed.
  SteadyTime mendDue_{};
  std::exception_ptr mendFailure_;
  bool isHidden_ = false;
  // One word, as it is read where messages pass.
  std::atomic<std::uint64_t> health_ = 0;
};

}  // namespace ackbox::store::sqlite
