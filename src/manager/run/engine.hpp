#pragma once

// A run's performer in families: engine.cpp (its events, and one function per action), stepping.cpp (its transactions:
// discovery, polls, steps).

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
#include "manager/run/wakeup.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

struct StepJob;

/// Does what a `delivery::Run` says, one function per action, and reports to it what came of it.
///
/// Thread-safety: public members may be called from any thread; everything else runs on the strand.
/// Lifetime: keeps itself alive while work is under way.
class Engine : public std::enable_shared_from_this<Engine> {
public:
  /// The report, and why the run ended early, if it did.
  using Ended = std::function<void(const StopReport&, const std::error_code&)>;

  /// `strand` runs one thing at a time.
  Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand,
         delivery::RunMode mode, RunThread thread);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Begins; `ended` is called once, on the strand, when the last of the run's work has been committed. Like the three
  /// members below it is called by the core, with the lock on the run's end held where the executor is the caller's.
  void begin(Ended ended);
  void stop();

  /// In the thread that has committed, before the next commit: queues what `read()` returns, unless it is empty. True
  /// if the run is to be woken.
  template <typename Read>
  bool onCommit(Read&& read) {
    return commits_.add(CommitQueue::WhenEmpty::leaveOut, std::forward<Read>(read));
  }
  /// The run takes in what is queued.
  void wake();
  /// A message was settled by its id: `emit` informs subscribers.
  void settledOutside(std::shared_ptr<Core> core, delivery::SessionKey session, delivery::MessageKey key,
                      std::function<void(EventHub&)> emit);
  /// The peer asks for a deferred message again.
  void recalledOutside(delivery::SessionKey session, delivery::MessageKey key);
  /// Look for foreign commits now.
  void lookForCommits();

  /// With the lock on the run's end held alone: answers find the run no more.
  void shut() noexcept { link_->engine.reset(); }

  /// On the strand: something threw that the run may depend on. It ends as soon as the store has nothing of it.
  void breakOff(const std::exception_ptr& thrown) noexcept;

  /// After the end: what a run that ended by itself did.
  [[nodiscard]] DrainReport drained() const;
  /// After the end: why it ended early, if it did.
  [[nodiscard]] const std::error_code& failure() const noexcept { return run_.failure(); }
  [[nodiscard]] const boost::asio::any_io_executor& strand() const noexcept { return strand_; }
  /// Whether waiting for the run's end in this thread could be waiting for itself, unless it is the manager's own.
  [[nodiscard]] bool needsThisThread() const noexcept {
    return thread_ != RunThread::own || senders_.runInThisThread();
  }

private:
  friend class ReplyGuard<Engine>;

  struct Request {
    bool isSent = false;
    std::vector<store::ClaimedMessage> messages;
    std::uint64_t epoch = 0;
    // What the sender was given.
    std::vector<delivery::MessageKey> keys;
    // What the trace hooks know it by.
    Tracer::Span span;
  };

  // What a poll has seen.
  struct Poll {
    store::Vitals vitals;
    // Pages to be given back.
    bool isUntidy = false;
  };

  // Calls `event(now, actions)` and does the actions. What is thrown ends the run.
  template <typename Event>
  void on(Event&& event) noexcept;
  // Calls `work`. What it throws ends the run.
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
  void followUp();
  [[nodiscard]] SendRequest requestOf(delivery::Actions::Send& send);
  [[nodiscard]] delivery::StepCounts emit(StepJob& step);
  /// Empty for one that this process was not given.
  [[nodiscard]] std::string peerName(delivery::PeerKey peer) const;
  /// People have paused peers, or let them go on.
  void watchOrders(const delivery::HoldSnapshot& holds);
  void watch(const store::Vitals& vitals, std::span<const delivery::PeerRecord> peers = {});
  void finish() noexcept;

  // Constant after construction.
  const boost::asio::any_io_executor strand_;
  const RunThread thread_;

  Senders senders_;
  const std::shared_ptr<RunLink<Engine>> link_ = std::make_shared<RunLink<Engine>>();
  CommitQueue commits_;
  // Null: the run is woken by a post. Constant after `begin`.
  std::shared_ptr<Wakeup> wakeup_;

  // Owned by the strand. The core lives at least as long as the run; `finish` lets go of it.
  std::shared_ptr<Core> core_;
  PolicyLookup policies_;
  delivery::Run run_;
  HealthWatch health_;
  std::array<std::unique_ptr<Alarm>, delivery::kRunTimers> alarms_;
  // Signs of others' commits and deaths; null: both are found by polls alone.
  std::shared_ptr<FileWatch> watch_;
  std::shared_ptr<FileWatch> called_;
  Ended ended_;
  std::unordered_map<delivery::PeerKey, store::PeerRow> peers_;
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> sessionPeers_;
  std::unordered_map<delivery::RequestId, Request> requests_;
  // Committed in this thread, not yet followed up.
  std::shared_ptr<StepJob> committed_;
  bool isFollowingUp_ = false;
};

}  // namespace ackbox::manager
