#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "ackbox/frame.hpp"
#include "base/mutex.hpp"
#include "store/job.hpp"
#include "store/kept_out.hpp"

namespace ackbox::store {

/// The behaviour while another connection holds a lock that a transaction needs: SQLite's write lock, or a row's in
/// PostgreSQL.
enum class WhenLocked : std::uint8_t {
  /// Wait for it, up to `OutboxOptions::busyTimeout` in SQLite, and shortly in PostgreSQL.
  wait,
  /// Leave everything as it is.
  leave,
};

/// Group commit: all writes of a manager go through this class; an `OutboxWriter` writes on a connection of its
/// application. When idle, takes all queued jobs, runs them in one transaction, commits once, and reports to each job
/// in the order of submission. After 1,024 messages, the other jobs are left to the next transaction. No timers: a lone
/// job commits at once, many jobs share a commit, and threads that have just waited for a job may join the next one.
///
/// Thread-safety: `submit` from any thread; one caller of `runOnce` at a time.
class Writer {
public:
  /// Called in the same thread, before it runs another job, when another thread may already commit the next one, so
  /// that a thread that this call wakes need not wait. The caller itself must preserve the order of the commits. Must
  /// not throw.
  using AfterRelease = std::function<void()>;
  /// Called after each committed group, in the same thread, after the jobs' `done`. May return an empty function. Must
  /// not wait for another thread.
  using AfterCommit = std::function<AfterRelease(Store&)>;

  /// Called after each transaction that failed, in the thread of its jobs. Must not wait for another thread, and not
  /// use the writer.
  using AfterFailure = std::function<void(const std::error_code&, const std::string& why)>;

  explicit Writer(Store& store, AfterCommit afterCommit = {}, AfterFailure afterFailure = {});
  /// Stops the thread after the submitted jobs; later jobs end with `Errc::stopped`.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Starts the writer's own thread. Without it, the owner calls `runOnce`.
  void startThread();

  /// Replaces the thread: whenever there are jobs to commit, calls `post` with a function that runs one group; `post`
  /// must not run it inside the call. A function that runs after the writer was destroyed does nothing. Commits in a
  /// caller's thread work as with a thread.
  using Post = std::function<void(std::function<void()>)>;
  void runOn(Post post);

  /// For callers that wait for a job: if the writer has no thread, waits for the end of another thread's commit, and
  /// then commits one group in the calling thread. Returns false if it committed nothing.
  bool help();

  /// If the writer is closed, `job` ends with `Errc::stopped` at once, in the caller's thread.
  void submit(Job& job) noexcept;

  /// For a caller that would wait for `job` at once: commits it in the calling thread, which saves two thread switches,
  /// if no other job is queued or under way and the last group was one job too; many jobs share commits better through
  /// the writer's thread. Returns true after `done`; false if nothing was done, and `job` must be submitted.
  bool commitHere(Job& job, WhenLocked whenLocked = WhenLocked::wait) noexcept;

  /// Commits one group of what is queued, in the calling thread, and tries what a lock has kept out. Returns false when
  /// there was neither, or when another commit is under way; the end of that commit starts the next one.
  bool runOnce();

  /// The number of commits of all writers of this program so far, by kind.
  struct Totals {
    /// Commits of `commitHere`.
    std::uint64_t inCallers = 0;
    /// Commits of queued jobs; and of those, the commits with more than one job.
    std::uint64_t queued = 0;
    std::uint64_t shared = 0;
  };
  [[nodiscard]] static Totals totals() noexcept;

  /// Whether the calling thread is the one that commits, which cannot wait for itself.
  [[nodiscard]] bool runsInThisThread() const noexcept {
    const std::thread::id self = std::this_thread::get_id();
    return runner_.load() == self || loop_.load() == self;
  }

  /// Refuses new jobs, finishes the queued ones, joins the thread. Idempotent.
  void close() noexcept;

private:
  void loop() noexcept;
  void endCommit(AfterRelease afterRelease) noexcept ACKBOX_EXCLUDES(mutex_);
  /// The thread that this wakes may destroy the writer as soon as the lock is free.
  void wakeRunner() noexcept ACKBOX_REQUIRES(mutex_);
  void askToRun() noexcept;
  void commitQueued(Job* first) noexcept ACKBOX_EXCLUDES(mutex_);
  void gather() noexcept ACKBOX_REQUIRES(mutex_);
  Job* takeGroup() noexcept ACKBOX_REQUIRES(mutex_);
  bool commitGroup(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept;
  bool commitAndFinish(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept;
  void commitEach(Job* first, AfterRelease& afterRelease) noexcept;
  /// `job` has met a lock, or follows one that has.
  void keep(Job& job, const std::error_code& failure) noexcept;
  void retryKept(AfterRelease& afterRelease) noexcept;
  [[nodiscard]] bool isKeptOut(const std::error_code& failure) const noexcept;
  /// As `isKeptOut`, and no other job could begin either.
  [[nodiscard]] bool isLockOfAll(const std::error_code& failure) const noexcept;
  [[nodiscard]] bool isOfAll(const std::error_code& failure) const noexcept;
  std::error_code tryAlone(Job& job, WhenLocked whenLocked) noexcept;
  std::error_code tryCommit(Job* first, WhenLocked whenLocked) noexcept;
  std::error_code commitOnce(Job* first, WhenLocked whenLocked) noexcept;
  void explain(Job& job, const std::error_code& error) const noexcept;
  void announce(const Job* first);
  /// The jobs behind `last` begin the next group.
  void putBackAfter(Job& last) noexcept ACKBOX_EXCLUDES(mutex_);
  [[nodiscard]] AfterRelease finish(Job* first, const std::error_code& error) noexcept;
  std::error_code failed(const std::exception_ptr& failure) noexcept;

  Store& store_;
  AfterCommit afterCommit_;
  AfterFailure afterFailure_;
  // Of the thread that commits.
  std::vector<const Frame*> announced_;
  KeptOut kept_;
  // The place in it of the job that is tried next.
  std::size_t retryFrom_ = 0;
  // What the store said when the last transaction failed.
  std::string why_;

  Mutex mutex_;
  ConditionVariable wake_;
  Job* head_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
  Job* tail_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
  bool closed_ ACKBOX_GUARDED_BY(mutex_) = false;
  // Whether the thread `runner_` is inside `commitGroup`.
  bool committing_ ACKBOX_GUARDED_BY(mutex_) = false;
  // Whether jobs were kept out by the last commit.
  bool hasKept_ ACKBOX_GUARDED_BY(mutex_) = false;
  std::size_t queued_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // How many jobs the last group had, and how many threads waited for them.
  std::size_t lastGroup_ ACKBOX_GUARDED_BY(mutex_) = 1;
  std::size_t returning_ ACKBOX_GUARDED_BY(mutex_) = 0;

  // The thread that is committing.
  std::atomic<std::thread::id> runner_;
  // The writer's own thread, which may be in an `AfterRelease` call after the commit.
  std::atomic<std::thread::id> loop_;
  // Constant once jobs are submitted. A posted function finds the writer through the link, until the writer is closed.
  Post post_;
  std::shared_ptr<Writer*> link_;

  std::thread thread_;
};

}  // namespace ackbox::store
