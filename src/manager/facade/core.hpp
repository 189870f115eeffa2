#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/options.hpp"
#include "ackbox/outbox_manager.hpp"
#include "base/exception_report.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "delivery/open_clock.hpp"
#include "delivery/run_actions.hpp"
#include "manager/facade/room_waiters.hpp"
#include "manager/facade/store_report.hpp"
#include "manager/inbound/refusal_counts.hpp"
#include "manager/inbound/report_limiter.hpp"
#include "manager/log/event_log.hpp"
#include "manager/log/log.hpp"
#include "manager/log/tracer.hpp"
#include "manager/run/commit_queue.hpp"
#include "manager/run/peer_board.hpp"
#include "manager/run/peer_watch.hpp"
#include "manager/run/subscribers.hpp"
#include "store/place.hpp"
#include "store/reader.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace boost::asio {
class io_context;
}

namespace ackbox::manager {

/// The thread in which a run does its work.
enum class RunThread : std::uint8_t {
  /// The manager's own thread, or the thread of a pass's caller.
  own,
  /// The thread of `OutboxOptions::storeExecutor`, which also runs the store's transactions.
  store,
  /// A thread of the caller's executor.
  callers,
};

class Engine;
class Puller;

/// A peer of this process.
struct KnownPeer {
  std::shared_ptr<const PeerOptions> options = {};
  /// Why it cannot be served: of a peer that was added to the outbox.
  std::string problem = {};
};

/// The state that the facades share: the store behind its writer, the reader, the subscribers, and the one delivery
/// run.
///
/// Thread-safety: all members may be called from any thread.
class Core : public std::enable_shared_from_this<Core> {
public:
  /// `options` are valid and complete, see `makeCore`.
  Core(std::unique_ptr<const store::Place> place, OutboxOptions options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// The process in which it may be used and destroyed.
  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }
  [[nodiscard]] const store::Place& place() const noexcept { return *place_; }
  [[nodiscard]] const OutboxOptions& options() const noexcept { return options_; }
  [[nodiscard]] Clock& clock() const noexcept { return *options_.clock; }
  [[nodiscard]] Random& random() const noexcept { return *options_.random; }
  [[nodiscard]] store::Writer& writer() noexcept { return writer_; }
  [[nodiscard]] const store::Reader& reader() const noexcept { return *reader_; }
  [[nodiscard]] RoomWaiters& waiters() noexcept { return waiters_; }
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] EventHub& events() noexcept { return events_; }
  [[nodiscard]] PeerBoard& peerBoard() noexcept { return peerBoard_; }
  [[nodiscard]] PeerWatch& peerWatch() noexcept { return peerWatch_; }
  [[nodiscard]] Log& log() noexcept { return log_; }
  /// The tracer of enqueues and requests.
  [[nodiscard]] const Tracer& tracer() const noexcept { return tracer_; }
  [[nodiscard]] RefusalCounts& refusals() noexcept { return *refusals_; }
  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }

  void setSender(std::shared_ptr<Sender> sender);
  /// Logs when the certificate in this file, if it has one, has expired or will soon.
  void lookAtCertificate(const std::filesystem::path& file);
  void start();
  void run(const boost::asio::any_io_executor& executor, std::function<void(std::error_code)> handler);
  StopReport stop();
  DrainReport drain(bool untilIdle);
  [[nodiscard]] Puller& puller() noexcept { return *puller_; }
  /// Prevents new runs until `endPull`. Throws `alreadyRunning` while a run is under way.
  void beginPull();
  void endPull() noexcept;
  /// Wakes the run, if there is one, to look for other processes' commits.
  void notify() noexcept;
  /// Emits a health event about this process. Throws if memory is short.
  void reportProcess(bool isRaised, std::string sentence);
  /// The same for the run under way; its report on the file holds until the run reports the opposite.
  void reportRun(delivery::ProcessReport&& report) ACKBOX_EXCLUDES(fileMutex_);
  /// The text of the problem that keeps the run from using its file; empty: no problem, or no run.
  [[nodiscard]] std::string fileTrouble() const ACKBOX_EXCLUDES(fileMutex_);
  /// Emits the health event of an exception that ended one handler in this process: a handler of its own, or the user's
  /// code in it.
  void reportException(const std::string& what) noexcept;
  /// The store has answered the run, an inbound request or an enqueue, see `StoreReport`. While the file is replaced,
  /// statistics report it, too.
  void storeAnswered() noexcept { storeReport_.answered(); }
  /// Throws `Error` with `databaseReplaced` if that was the store's last report.
  void requireFile() const;
  /// Calls `work`. An exception is reported, and ends neither the thread nor the process.
  template <typename Work>
  void guarded(Work&& work) noexcept {
    reportingThrown([this](const std::string& what) { reportException(what); }, std::forward<Work>(work));
  }
  bool ack(std::string_view messageId);
  /// A message was settled outside the run: the run forgets it, and `emit` is called where the run emits its events.
  void settledOutside(const store::SettledMessage& message, const std::function<void(EventHub&)>& emit);
  /// A peer's ACK event was committed: events and the run follow it.
  void ackEventCommitted(const store::AckEventOutcome& outcome, const FrameResult& result);
  /// Whether a run is under way; takes no reference to it, which could outlive it.
  [[nodiscard]] bool running() const;

  /// Whether a run that works in `thread` may commit a short transaction at once, without a change of threads. Not on
  /// an executor of the caller's, which must not wait for the disk.
  [[nodiscard]] static bool commitsInline(RunThread thread) noexcept { return thread != RunThread::callers; }
  /// On the writer's thread, between transactions: rows that the run has not seen.
  [[nodiscard]] NewCommit takeNewRows();
  /// The peer of that name, configured or added to the file; without options: it is no peer of this process.
  [[nodiscard]] KnownPeer peer(std::string_view name) const ACKBOX_EXCLUDES(peersMutex_);
  /// Measures the age of messages since the opening of the file. For the run or the puller, whichever is open.
  [[nodiscard]] delivery::OpenClock& openClock() noexcept { return openClock_; }
  [[nodiscard]] const std::filesystem::path& logFile() const noexcept { return logFile_; }
  [[nodiscard]] const std::filesystem::path& ownersFile() const noexcept { return ownersFile_; }
  /// See `RunHandoff`: locked exclusively only at a run's end. Taken before mutex_ if both are taken.
  [[nodiscard]] const std::shared_ptr<SharedMutex>& endLock() const noexcept { return endLock_; }

private:
  // Rows shown at a time, so that a large backlog neither blocks the writer nor delays the first send.
  static constexpr std::size_t kNewRowsMax = 4096;

  // Logs the state of the file at the opening.
  void logOpening();
  void transactionFailed(const std::error_code& error, const std::string& why) ACKBOX_EXCLUDES(fileMutex_);
  // On the writer's thread: takes the peers that were added to the file, changed or removed.
  void learnPeers(store::Store& store) ACKBOX_EXCLUDES(peersMutex_);
  [[nodiscard]] store::Writer::AfterRelease afterCommit(store::Store& store);
  void emitSuperseded(store::Store& store);

  // --- core_runs.cpp: the run and its thread.
  // Makes a run's engine the listener of commits. Throws alreadyRunning or noSender.
  std::shared_ptr<Engine> adopt(const boost::asio::any_io_executor& strand, delivery::RunMode mode, RunThread thread)
      ACKBOX_REQUIRES(mutex_);
  void runEnded(const StopReport& report) noexcept ACKBOX_EXCLUDES(*endLock_, mutex_);
  [[nodiscard]] std::shared_ptr<Engine> engine() const ACKBOX_EXCLUDES(mutex_);
  /// Calls `use(Engine&)` if there is a run, and delays the run's completion meanwhile. True if there was one.
  template <typename Use>
  bool withEngine(Use&& use) ACKBOX_EXCLUDES(*endLock_, mutex_);
  /// Lets a run take over from the puller, unless claims are outstanding.
  void yieldToRun();
  StopReport stopRun();
  StopReport stopPull();
  [[nodiscard]] bool isPulling() const;
  /// Releases the lock while it waits.
  void joinOwnThread() ACKBOX_REQUIRES(mutex_);
  void startOnStoreExecutor();
  // Runs `context` until it stops.
  void serve(boost::asio::io_context& context) noexcept;

  const HomeProcess home_;
  const std::unique_ptr<const store::Place> place_;
  const std::shared_ptr<SharedMutex> endLock_ = std::make_shared<SharedMutex>();
  const std::unique_ptr<store::Store> store_;
  // Includes the peers that were taken over from the file, but not those that were added to it (`peers_`).
  const OutboxOptions options_;
  const std::string origin_;
  const std::filesystem::path logFile_;
  const std::filesystem::path ownersFile_;
  mutable Mutex peersMutex_;
  std::map<std::string, KnownPeer, std::less<>> peers_ ACKBOX_GUARDED_BY(peersMutex_);
  // The keys of `options_.peers`. Constant after construction.
  std::set<delivery::PeerKey> configuredPeers_;
  // Changed peers that the run or the puller has not taken. Each begins with all peers, so without both this is empty.
  // Only the writer's thread uses them.
  std::vector<store::PeerRow> changedPeers_;
  const std::unique_ptr<const store::Reader> reader_;
  Log log_;
  const Tracer tracer_;
  EventHub events_;
  EventLog eventLog_;
  PeerBoard peerBoard_;
  PeerWatch peerWatch_;
  // Used by the run or the puller that is under way; one ends before the next begins.
  delivery::OpenClock openClock_;
  const std::shared_ptr<RefusalCounts> refusals_;
  StoreReport storeReport_;

  // By what the store said.
  ReportLimiter<std::string> failureReports_;
  mutable Mutex fileMutex_;
  // Of the transaction that failed last.
  std::error_code lastFailure_ ACKBOX_GUARDED_BY(fileMutex_);
  std::string whyFailed_ ACKBOX_GUARDED_BY(fileMutex_);
  struct FileTrouble {
    std::string sentence;
    SteadyTime countsFrom;
    // Nothing: the problem continues.
    std::optional<SteadyTime> endedAt;
  };
  // By the run's use of the file.
  std::map<delivery::FileUse, FileTrouble> fileTroubles_ ACKBOX_GUARDED_BY(fileMutex_);

  mutable Mutex mutex_;
  ConditionVariable runEnded_;
  std::shared_ptr<Sender> sender_ ACKBOX_GUARDED_BY(mutex_);
  // Weak: the run keeps itself alive through its pending work, and ends with its executor at the latest.
  std::weak_ptr<Engine> engine_ ACKBOX_GUARDED_BY(mutex_);
  // The number of the last run, which may be under way, and the number up to which all runs have ended. A thread waits
  // for a run by its number, because the next run may have the same address.
  std::uint64_t lastRun_ ACKBOX_GUARDED_BY(mutex_) = 0;
  std::uint64_t endedRun_ ACKBOX_GUARDED_BY(mutex_) = 0;
  std::thread ownThread_ ACKBOX_GUARDED_BY(mutex_);
  // The former own thread that is being joined; by default, none.
  std::thread::id joined_ ACKBOX_GUARDED_BY(mutex_);
  // The report of `endedRun_`.
  StopReport lastReport_ ACKBOX_GUARDED_BY(mutex_);
  bool pulling_ ACKBOX_GUARDED_BY(mutex_) = false;

  // Declared before writer_: no job of the puller is left when it ends.
  const std::unique_ptr<Puller> puller_;

  // Declared before writer_, which ends its attempt.
  RoomWaiters waiters_;

  // Declared last: its thread ends before the members that its jobs use.
  store::Writer writer_;
};

template <typename Use>
bool Core::withEngine(Use&& use) {
  const SharedLock lock(*endLock_);
  const std::shared_ptr<Engine> running = engine();
  if (running) {
    use(*running);
  }
  return running != nullptr;
}

/// Called when the options were found valid.
using MakePlace = std::function<std::unique_ptr<const store::Place>()>;

/// A core that any thread may drop last, even its own writer's thread. A child of its process does not destroy it.
/// `name` is what a record calls a place that cannot be opened.
[[nodiscard]] std::shared_ptr<Core> makeCore(const std::string& name, const MakePlace& place, OutboxOptions options);

/// `core`, for a call of the application. Throws `Error` with `otherProcess` in a child of its process.
[[nodiscard]] inline Core& here(const std::shared_ptr<Core>& core) {
  core->home().require();
  return *core;
}

}  // namespace ackbox::manager
