#pragma once

// Performs a run's actions. Its members by file: engine.cpp (events, and one function per action), stepping.cpp
// (transactions: discovery, polls, steps).

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackbox/options.hpp"
#include "ackbox/run_report.hpp"
#include "delivery/run.hpp"
#include "manager/facade/core.hpp"
#include "manager/run/commit_queue.hpp"
#include "manager/run/file_watch.hpp"
#include "manager/run/health_watch.hpp"
#include "manager/run/policy_lookup.hpp"
#include "manager/run/reply_guard.hpp"
#include "manager/run/run_handoff.hpp"
#include "manager/run/senders.hpp"
#include "manager/run/sign_watch.hpp"
#include "manager/run/wakeup.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

struct StepJob;

/// Performs the actions of a `delivery::Run`, one function per action, and reports their results to it.
///
/// Thread-safety: public members may be called from any thread; everything else runs on the strand.
/// Lifetime: keeps itself alive while work is under way.
class Engine : public std::enable_shared_from_this<Engine> {
public:
  /// The report, and the error if the run ended early.
  using Ended = std::function<void(const StopReport&, const std::error_code&)>;

  /// `strand` runs one thing at a time.
  Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand,
         delivery::RunMode mode, RunThread thread);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Begins; `ended` is called once, on the strand, when the last of the run's work has been committed. The core calls
  /// it, and the three members below, with the lock on the run's end held if the executor is the caller's.
  void begin(Ended ended);
  void stop();

  /// Called in the thread that has committed, before the next commit: queues the result of `read()`, unless it is
  /// empty. Returns true if the run must be woken.
  template <typename Read>
  bool onCommit(Read&& read) {
    return commits_.add(CommitQueue::WhenEmpty::leaveOut, std::forward<Read>(read));
  }
  /// The run takes the queued rows.
  void wake();
  /// A message was settled by its id: `emit` informs subscribers.
  void settledOutside(std::shared_ptr<Core> core, delivery::SessionKey session, delivery::MessageKey key,
                      std::function<void(EventHub&)> emit);
  /// The peer asks for a deferred message again.
  void recalledOutside(delivery::SessionKey session, delivery::MessageKey key);
  /// Looks for other processes' commits now.
  void lookForCommits();

  /// With the lock on the run's end held exclusively: answers no longer find the run.
  void shut() noexcept { link_->engine.reset(); }

  /// On the strand: an exception may affect the run, which ends as soon as none of its transactions is with the store.
  void breakOff(const std::exception_ptr& thrown) noexcept;

  /// After the end: the totals of a run that ended by itself.
  [[nodiscard]] DrainReport drained() const;
  /// After the end: the error, if the run ended early.
  [[nodiscard]] const std::error_code& failure() const noexcept { return run_.failure(); }
  [[nodiscard]] const boost::asio::any_io_executor& strand() const noexcept { return strand_; }
  /// Whether the run may need this thread, which must then not wait for its end; excludes the manager's own thread.
  [[nodiscard]] bool needsThisThread() const noexcept {
    return thread_ != RunThread::own || senders_.runInThisThread();
  }

private:
  friend class ReplyGuard<Engine>;

  struct Request {
    bool isSent = false;
    std::vector<store::ClaimedMessage> messages;
    std::uint64_t epoch = 0;
    // The messages that the sender was given.
    std::vector<delivery::MessageKey> keys;
    // The request's span in the trace hooks.
    Tracer::Span span;
  };

  // The findings of a poll.
  struct Poll {
    store::Vitals vitals;
    // The file has free pages to release.
    bool isUntidy = false;
  };

  // Calls `event(now, actions)` and performs the actions. An exception ends the run.
  template <typename Event>
  void on(Event&& event) noexcept;
  // Calls `work`. An exception ends the run.
  template <typename Work>
  void guarded(Work&& work) noexcept;
  // The same on the strand, later.
  template <typename Work>
  void post(Work work);

  // --- Events.
  void takeCommits();
  void answered(delivery::RequestId request, const SendReport& report);
  void stepDone(const std::shared_ptr<StepJob>& step);
  void discovered(const std::error_code& error, const std::vector<store::PeerRow>& peers);
  void polled(const std::error_code& error, const Poll& poll);

  // --- Actions.
  void perform(delivery::RunActions&& actions);
  void perform(delivery::run_action::Discover&& action);
  void perform(delivery::run_action::SubmitStep&& action);
  void perform(delivery::run_action::Poll&& action);
  void perform(delivery::run_action::Send&& action);
  void perform(delivery::run_action::SetTimer&& action);
  void perform(delivery::run_action::CancelTimer&& action);
  void perform(delivery::run_action::PublishPeers&& action);
  void perform(delivery::run_action::ReportProcess&& action);
  void perform(delivery::run_action::StopSenders&& action);
  void perform(delivery::run_action::Finish&& action);

  [[nodiscard]] delivery::Now now() const;
  [[nodiscard]] delivery::MachineOptions machineOptions();
  [[nodiscard]] std::shared_ptr<RunHandoff<Engine>> handoff();
  [[nodiscard]] std::error_code queueCommit(const std::error_code& error) noexcept;
  [[nodiscard]] std::vector<delivery::CommittedRows> rowsOf(std::list<NewCommit>& commits);
  [[nodiscard]] std::vector<delivery::RunPeer> addPeers(const std::vector<store::PeerRow>& rows);
  void openWakeup();
  void watchNeighbours();
  void watchSigns();
  void renewSigns();
  void followUp();
  [[nodiscard]] SendRequest requestOf(delivery::Actions::Send& send);
  [[nodiscard]] delivery::StepCounts emit(StepJob& step);
  /// Empty for a peer without a configuration in this process.
  [[nodiscard]] std::string peerName(delivery::PeerKey peer) const;
  /// Operators have paused or resumed peers.
  void watchOrders(const delivery::HoldSnapshot& holds);
  void watch(const store::Vitals& vitals, std::span<const delivery::PeerRecord> peers = {});
  void finish() noexcept;

  // Constant after construction.
  const boost::asio::any_io_executor strand_;
  const RunThread thread_;

  Senders senders_;
  const std::shared_ptr<RunLink<Engine>> link_ = std::make_shared<RunLink<Engine>>();
  CommitQueue commits_;
  // Null: a post wakes the run. Constant after `begin`.
  std::shared_ptr<Wakeup> wakeup_;

  // Owned by the strand. The core lives at least as long as the run; `finish` drops it.
  std::shared_ptr<Core> core_;
  PolicyLookup policies_;
  delivery::Run run_;
  HealthWatch health_;
  std::array<std::unique_ptr<Alarm>, delivery::kRunTimers> alarms_;
  // Signs of other processes' commits and deaths; null: only polls find them.
  std::shared_ptr<FileWatch> watch_;
  std::shared_ptr<FileWatch> called_;
  std::shared_ptr<SignWatch> signs_;
  // The last try to watch the store's signs failed.
  bool lacksSigns_ = false;
  // How many polls lie between two tries, and how many there were since the last.
  unsigned signsPause_ = 1;
  unsigned signsPolls_ = 0;
  Ended ended_;
  std::unordered_map<delivery::PeerKey, store::PeerRow> peers_;
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> sessionPeers_;
  std::unordered_map<delivery::RequestId, Request> requests_;
  // A step that was committed in this thread and is not followed up yet.
  std::shared_ptr<StepJob> committed_;
  bool isFollowingUp_ = false;
};

}  // namespace ackbox::manager
