#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include "base/mutex.hpp"

namespace ackbox::store {

class Store;

/// A unit of work inside a group-committed transaction.
///
/// Lifetime: owned by its submitter; it must live until `done` is called, which may destroy it.
class Job {
public:
  virtual ~Job() = default;

  /// Runs in the open transaction, in the thread that commits. An environmental failure is thrown (`Error`,
  /// `SQLite::Exception`): the whole group rolls back and each of its jobs is run again in a transaction of its own,
  /// so that a job fails alone. After a full disk each transaction is tried again once the log has made room. `run` may
  /// therefore be called more than once, and starts from scratch each time. After `handlerEndedTransaction` it is run
  /// again until it fails otherwise or commits: it must leave its offender out.
  virtual void run(Store& store) = 0;

  /// Called once: after the commit (`error` is empty), or when the job can never commit. Must not throw or block.
  virtual void done(const std::error_code& error) noexcept = 0;

  /// Whether the commit that carries it must be fsynced before `done` (P1), and whether it may run while the disk is
  /// read as full.
  bool durable = false;

  /// Whether a thread waits for it, which is likely to bring another one then.
  bool awaited = false;

private:
  friend class Writer;
  Job* next_ = nullptr;
};

/// What to do when another connection holds SQLite's write lock.
enum class WhenLocked : std::uint8_t {
  /// Wait for it, up to `OutboxOptions::busyTimeout`.
  wait,
  /// Leave everything as it is.
  leave,
};

/// Group commit: what a manager writes, it writes here; an `OutboxWriter` writes on a connection of its application.
/// Takes whatever is queued when it is idle, runs it
/// in one transaction, commits once, and reports to each job in the order of submission. No timers: a lone job commits
/// at once, a crowd shares a commit, and threads whose jobs are just done may yet join the next one.
///
/// Thread-safety: `submit` from any thread; one caller of `runOnce` at a time.
class Writer {
public:
  /// Called in the same thread, before that runs another job, when the next one may be committed by another thread:
  /// whom it wakes finds nothing in the way. To keep the order of the commits is the caller's own matter. Must not
  /// throw.
  using AfterRelease = std::function<void()>;
  /// Called after each group that committed, in the same thread, after the jobs' `done`. What it returns may be empty.
  /// It may wait for no other thread.
  using AfterCommit = std::function<AfterRelease(Store&)>;

  explicit Writer(Store& store, AfterCommit afterCommit = {});
  /// Stops the thread after the jobs that were submitted; later ones end with `Errc::stopped`.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Starts the writer's own thread. Without it, the owner calls `runOnce`.
  void startThread();

  /// Instead of a thread: `post` is asked to run one group, not inside the call, whenever there is something to commit.
  /// Posted work that runs after the writer has ended does nothing. Commits in a caller's thread go on as with a
  /// thread.
  using Post = std::function<void(std::function<void()>)>;
  void runOn(Post post);

  /// For callers that wait for a job: without a thread, commits one group here and now, when no other thread is inside
  /// a commit any more. False when there is nothing that the caller could do.
  bool help();

  /// Ends with `Errc::stopped`, at once and in the caller's thread, once the writer is closed.
  void submit(Job& job) noexcept;

  /// For a caller that would wait for `job` at once: commits it here and now, which spares two changes of threads,
  /// while no other job is queued or under way and the last group was one job too; a crowd shares commits better
  /// through the writer's thread. True after `done`; false when nothing was done, and `job` is to be submitted.
  bool commitHere(Job& job, WhenLocked whenLocked = WhenLocked::wait) noexcept;

  /// Commits one group of what is queued, in the calling thread. Returns false when nothing was queued, or when another
  /// commit is under way, whose end asks for the next one.
  bool runOnce();

  /// What all writers of this program have committed so far, by the way in which they did.
  struct Totals {
    /// Commits of `commitHere`.
    std::uint64_t inCallers = 0;
    /// Commits of what was queued; and of those, the ones that more than one job shared.
    std::uint64_t queued = 0;
    std::uint64_t shared = 0;
  };
  [[nodiscard]] static Totals totals() noexcept;

  /// Whether the caller is what commits, which cannot wait for itself.
  [[nodiscard]] bool runsInThisThread() const noexcept {
    const std::thread::id self = std::this_thread::get_id();
    return runner_.load() == self || loop_.load() == self;
  }

  /// Refuses new jobs, finishes the queued ones, joins the thread. Idempotent.
  void close() noexcept;

private:
  void loop() noexcept;
  void endCommit(AfterRelease afterRelease) noexcept ACKBOX_EXCLUDES(mutex_);
  /// The thread that this wakes may destroy the writer, as soon as the lock is free.
  void wakeRunner() noexcept ACKBOX_REQUIRES(mutex_);
  void askToRun() noexcept;
  void commitQueued(Job* first) noexcept ACKBOX_EXCLUDES(mutex_);
  void gather() noexcept ACKBOX_REQUIRES(mutex_);
  Job* takeGroup() noexcept ACKBOX_REQUIRES(mutex_);
  bool commitGroup(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept;
  bool commitAndFinish(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept;
  std::error_code tryCommit(Job* first, WhenLocked whenLocked) noexcept;
  std::error_code commitOnce(Job* first, WhenLocked whenLocked) noexcept;
  [[nodiscard]] AfterRelease finish(Job* first, const std::error_code& error) noexcept;

  Store& store_;
  AfterCommit afterCommit_;

  Mutex mutex_;
  ConditionVariable wake_;
  Job* head_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
  Job* tail_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
  bool closed_ ACKBOX_GUARDED_BY(mutex_) = false;
  // Somebody, whom `runner_` names, is inside `commitGroup`.
  bool committing_ ACKBOX_GUARDED_BY(mutex_) = false;
  std::size_t queued_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // How many jobs the last group had, and how many threads waited for them.
  std::size_t lastGroup_ ACKBOX_GUARDED_BY(mutex_) = 1;
  std::size_t returning_ ACKBOX_GUARDED_BY(mutex_) = 0;

  // The thread that commits, as long as it does.
  std::atomic<std::thread::id> runner_;
  // The writer's own, which is busy with such a call after that.
  std::atomic<std::thread::id> loop_;
  // Constant once jobs are submitted. What was posted finds the writer, while there is one, through the link.
  Post post_;
  std::shared_ptr<Writer*> link_;

  std::thread thread_;
};

}  // namespace ackbox::store
