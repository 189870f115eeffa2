#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "base/mutex.hpp"
#include "delivery/open_clock.hpp"
#include "manager/facade/core.hpp"
#include "manager/inbound/inbound_completion.hpp"
#include "reception/inbox_machine.hpp"

namespace ackbox::manager {

class InboundRunner;

/// One run of a deferred handler: the state that its handle and the runner share.
struct InboxRun {
  InboxRun(std::uint64_t number, const reception::Turn& itsTurn, std::shared_ptr<const store::InboxRow> itsRow)
      : id(number), turn(itsTurn), row(std::move(itsRow)) {}

  const std::uint64_t id;
  const reception::Turn turn;
  const std::shared_ptr<const store::InboxRow> row;
  /// The end is decided: by the handler, the deadline, or the loss of the handle.
  std::atomic<bool> answered{false};
  std::atomic<bool> stopRequested{false};
  /// The deadline has decided the end.
  std::atomic<bool> expired{false};
  /// Its span in the trace hooks; constant once the handler has begun.
  Tracer::Span span;
  bool isTraced = false;
  /// The last decision, for the hooks; used by the thread that commits. Empty: its effects were not called.
  std::optional<HandlerResult> decision;
  /// On the steady clock; the end of time until the handler has begun.
  std::atomic<SteadyTime> deadline{SteadyTime::max()};

  /// Whether a shutdown asked it to stop: unfinished work is then not a failure.
  [[nodiscard]] bool interrupted() const noexcept { return stopRequested && !expired; }
};

}  // namespace ackbox::manager

namespace ackbox {

/// The destruction of the last of these ends the run.
class DeferredFrame::Impl {
public:
  Impl(std::weak_ptr<manager::InboundRunner> itsRunner, std::shared_ptr<manager::InboxRun> itsRun)
      : runner(std::move(itsRunner)), run(std::move(itsRun)) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::weak_ptr<manager::InboundRunner> runner;
  const std::shared_ptr<manager::InboxRun> run;
};

/// The wishes, and the changes that the runner has not taken yet.
class DeferredDemand::Impl {
public:
  struct Change {
    DeferredWish wish;
    bool isGone = false;
  };

  void change(Change change) ACKBOX_EXCLUDES(mutex_);
  /// Passes all wishes, and later changes, to the runner.
  void attach(std::weak_ptr<manager::InboundRunner> runner, std::size_t pool) ACKBOX_EXCLUDES(mutex_);
  /// In the order of the changes.
  [[nodiscard]] std::vector<Change> takeChanges() ACKBOX_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::string> unwantedTypes(std::size_t limit) ACKBOX_EXCLUDES(mutex_);
  void setOnUnwanted(std::function<void()> call) ACKBOX_EXCLUDES(mutex_);
  /// May be empty.
  [[nodiscard]] std::function<void()> onUnwanted() ACKBOX_EXCLUDES(mutex_);

private:
  // Taken while the runner's lock is held.
  Mutex mutex_;
  std::map<std::uint64_t, DeferredWish> wishes_ ACKBOX_GUARDED_BY(mutex_);
  std::vector<Change> changes_ ACKBOX_GUARDED_BY(mutex_);
  std::weak_ptr<manager::InboundRunner> runner_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t pool_ ACKBOX_GUARDED_BY(mutex_) = 0;
  std::function<void()> onUnwanted_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox

namespace ackbox::manager {

/// Processes the inbox in the order that `reception::InboxMachine` decides: each row is first claimed for this process,
/// and then completed in a brief commit.
///
/// Thread-safety: all members may be called from any thread.
class InboundRunner : public std::enable_shared_from_this<InboundRunner> {
public:
  /// `handler` is called first for frames that waited, unseen by it, behind a deferred frame.
  InboundRunner(std::shared_ptr<Core> core, FrameHandler handler, InboundOptions options);
  ~InboundRunner();
  InboundRunner(const InboundRunner&) = delete;
  InboundRunner& operator=(const InboundRunner&) = delete;

  void begin();
  /// Rows may have been put into the inbox.
  void lookForCommits();
  /// Starts no more runs, asks runs to stop, waits for those on own threads, and frees the rows of the others.
  void close();

  // For a run's handle.
  bool complete(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done);
  bool giveBack(const std::shared_ptr<InboxRun>& run, std::string reason, std::chrono::milliseconds pause);
  bool progress(InboxRun& run);
  void dropped(const std::shared_ptr<InboxRun>& run);
  /// The wishes of a pool on demand have changed.
  void onWishes();
  [[nodiscard]] std::vector<std::string> unwantedTypes(std::size_t pool, std::size_t limit);
  /// The frames in the mailbox, as of the last look at the file.
  [[nodiscard]] reception::MailboxFill mailboxFill(const std::string& agent, const std::string& sender);

private:
  using Row = std::shared_ptr<const store::InboxRow>;

  /// The findings of a look at the file.
  struct Found {
    store::NewInboxRows inbox;
    bool shared = false;
    std::int64_t operatorChanges = 0;
  };
  struct Active {
    std::shared_ptr<InboxRun> run;
    /// The handler's code and handles are gone.
    bool dropped = false;
    /// The deadline has decided its end.
    bool expired = false;
    std::optional<InboxEnd> end;
    /// Its queue has advanced.
    bool advanced = false;
  };
  struct Claimed {
    reception::Turn turn;
    store::InboxClaim reply = {};
  };
  /// How long a queue pauses after the store refused a transaction.
  static constexpr std::chrono::milliseconds kStoreRetryPause{250};
  /// The longest delay until a frame that has expired, or that no consumer takes, is given up.
  static constexpr std::chrono::minutes kAgeCheckPause{1};

  /// The calls to make after the mutex is released.
  using Todo = std::vector<std::function<void()>>;

  /// Calls `change(todo)` with the lock held, starts the runs that may start, then makes the calls in `todo`.
  template <typename Change>
  void act(Change&& change) ACKBOX_EXCLUDES(mutex_);

  void poll(Todo& todo) ACKBOX_REQUIRES(mutex_);
  void polled(const std::error_code& error, Found found, Todo& todo) ACKBOX_REQUIRES(mutex_);
  /// An operator may have removed frames that fit no wish, which no claim would notice.
  void lookForGone(Todo& todo) ACKBOX_REQUIRES(mutex_);
  /// Checks which of `frames`, from index `from` on, have left the inbox, a part in each commit.
  void askForGone(std::shared_ptr<const std::vector<reception::QueuedFrame>> frames, std::size_t from, Todo& todo)
      ACKBOX_REQUIRES(mutex_);
  void takeWishes() ACKBOX_REQUIRES(mutex_);
  void noteUnwanted(Todo& todo) ACKBOX_REQUIRES(mutex_);
  /// The frames that have their turn, those that have expired, and those that have waited for a consumer beyond their
  /// horizon.
  [[nodiscard]] std::vector<Claimed> nextClaims(std::size_t limit) ACKBOX_REQUIRES(mutex_);
  void claim(Todo& todo) ACKBOX_REQUIRES(mutex_);
  /// Adds the frames that have their turn by now.
  void addClaims(std::vector<Claimed>& claims) ACKBOX_EXCLUDES(mutex_);
  void claimed(const std::error_code& error, std::vector<Claimed> claims, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void taken(const reception::Turn& turn, store::InboxRow row, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void firstLook(const reception::Turn& turn, const Row& row, Todo& todo) ACKBOX_REQUIRES(mutex_);
  /// Gives the frame up: it has expired, or no consumer took it within its horizon.
  void giveUp(const reception::Turn& turn, const Row& row, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void start(const reception::Turn& turn, const Row& row, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void callHandler(DeferredFrame frame, const std::shared_ptr<InboxRun>& run) ACKBOX_EXCLUDES(mutex_);
  /// The handler did not decide the run's end: charged with `problem`, unless it was interrupted.
  void failLater(const std::shared_ptr<InboxRun>& run, const char* problem, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void expire(SteadyTime now, Todo& todo) ACKBOX_REQUIRES(mutex_);
  void submit(const Row& row, DeferredEffects effects, InboundCompletion::Kind kind,
              std::function<void(const InboxEnd&)> ended) ACKBOX_EXCLUDES(mutex_);
  /// Uses the time that really passed while this handler was there: a jump of the calendar makes no frame older.
  [[nodiscard]] bool isPastHorizon(WallTime acceptedAt) ACKBOX_EXCLUDES(mutex_);
  [[nodiscard]] bool isOld(WallTime acceptedAt, const delivery::Now& present) const ACKBOX_REQUIRES(mutex_);
  /// A frame that a handler has got in time may end after its expiry.
  [[nodiscard]] bool hasExpired(const store::InboxRow& row) const {
    return !row.isDamaged && row.frame.expiresAt && *row.frame.expiresAt <= core_->clock().wallNow();
  }
  [[nodiscard]] delivery::Now now() const { return {core_->clock().steadyNow(), core_->clock().wallNow()}; }
  void submitRun(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done)
      ACKBOX_EXCLUDES(mutex_);
  void submitEnd(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, InboundCompletion::Kind kind,
                 DeferredDone done) ACKBOX_EXCLUDES(mutex_);
  /// The same effects, which also record their decision.
  [[nodiscard]] static DeferredEffects noting(const std::shared_ptr<InboxRun>& run, DeferredEffects effects);
  void traceEnd(const InboxRun& run, const InboxEnd& end) const noexcept;
  void advanceIfOver(std::uint64_t id) ACKBOX_REQUIRES(mutex_);
  void awaitQuiet() ACKBOX_EXCLUDES(mutex_);
  /// Whether `close` has nothing more to wait for. It waits for runs until `patience`.
  [[nodiscard]] bool isQuiet(SteadyTime patience) const ACKBOX_REQUIRES(mutex_);
  void freeRows() ACKBOX_EXCLUDES(mutex_);
  void advance(reception::QueueNumber queue, const InboxEnd& end) ACKBOX_REQUIRES(mutex_);
  void park(reception::QueueNumber queue, std::chrono::milliseconds wait) ACKBOX_REQUIRES(mutex_);
  void onWake() ACKBOX_EXCLUDES(mutex_);
  void arm() ACKBOX_REQUIRES(mutex_);

  // Constant after construction.
  const std::shared_ptr<Core> core_;
  const FrameHandler handler_;
  const InboundOptions options_;
  const Tracer tracer_;
  const std::shared_ptr<InboundCompletions> completions_;
  // Null if the user's executor is used.
  const std::unique_ptr<boost::asio::thread_pool> pool_;
  const boost::asio::any_io_executor executor_;
  const boost::asio::strand<boost::asio::any_io_executor> strand_;

  // Used on strand_ only.
  const std::unique_ptr<Alarm> alarm_;

  Mutex mutex_;
  ConditionVariable changed_;
  reception::InboxMachine machine_ ACKBOX_GUARDED_BY(mutex_);
  // By pool, as of the last event: whether a frame waits that fits no wish.
  std::vector<bool> hasUnwanted_ ACKBOX_GUARDED_BY(mutex_);
  delivery::OpenClock openClock_ ACKBOX_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Active> active_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t lastRun_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // The number of this runner's jobs with the writer.
  std::size_t jobs_ ACKBOX_GUARDED_BY(mutex_) = 0;
  store::InboxCursor seen_ ACKBOX_GUARDED_BY(mutex_);
  // As of the last look; below 0: no look yet, and the file does not count this handler yet.
  std::int64_t operatorChanges_ ACKBOX_GUARDED_BY(mutex_) = -1;
  SteadyTime nextPoll_ ACKBOX_GUARDED_BY(mutex_) = {};
  // When to check next whether frames that wait have expired or are beyond their horizon.
  SteadyTime nextAgeCheck_ ACKBOX_GUARDED_BY(mutex_) = {};
  // At or before the first deadline of all runs, because `progress` may postpone the deadline that was the first.
  SteadyTime nextDeadline_ ACKBOX_GUARDED_BY(mutex_) = SteadyTime::max();
  SteadyTime armedFor_ ACKBOX_GUARDED_BY(mutex_) = SteadyTime::max();
  bool pollUnderWay_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool pollAgain_ ACKBOX_GUARDED_BY(mutex_) = false;
  // All frames that were in the inbox at the beginning are known. Until then nothing is claimed, because turns would be
  // in the order of the rows.
  bool isCaughtUp_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool claimUnderWay_ ACKBOX_GUARDED_BY(mutex_) = false;
  // An operator has changed the inbox since the last check for frames that have left it.
  bool mayHaveGone_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool goneUnderWay_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool closing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool closed_ ACKBOX_GUARDED_BY(mutex_) = false;
};

template <typename Change>
void InboundRunner::act(Change&& change) {
  Todo todo;
  {
    const MutexLock lock(mutex_);
    openClock_.look(now());
    change(todo);
    if (!closing_) {
      claim(todo);
      noteUnwanted(todo);
      arm();
    }
    changed_.notifyAll();
  }
  for (const auto& each : todo) {
    each();
  }
}

}  // namespace ackbox::manager
