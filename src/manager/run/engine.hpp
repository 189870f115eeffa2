#pragma once

// A run's members in families: engine.cpp (its begin, what it hears, what it sends and is answered), polling.cpp (what
// other processes commit, and which of them died), stepping.cpp (what it decides is committed, and what comes of it),
// ending.cpp (its end).

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "delivery/machine.hpp"
#include "manager/facade/core.hpp"
#include "manager/run/commit_queue.hpp"
#include "manager/run/file_watch.hpp"
#include "manager/run/health_watch.hpp"
#include "manager/run/policy_lookup.hpp"
#include "manager/run/run_handoff.hpp"
#include "manager/run/senders.hpp"
#include "manager/run/wakeup.hpp"
#include "store/sqlite/store.hpp"

namespace ackbox::manager {

struct StepJob;

/// One delivery run: does what the machine says, one function per kind of action, and tells the machine what came of
/// it. At most one store transaction of its own is under way; what is decided meanwhile rides in the next one.
///
/// Thread-safety: public members may be called from any thread; everything else runs on the strand.
/// Lifetime: keeps itself alive while work is under way.
class Engine : public std::enable_shared_from_this<Engine> {
public:
  using Ended = std::function<void(const StopReport&)>;

  /// `strand` runs one thing at a time.
  Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand, RunMode mode,
         RunThread thread);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Begins; `ended` is called once, on the strand, when the last of the run's work has been committed. Like the three
  /// members below it is called by the core, with the gate held where the executor is the caller's.
  void begin(Ended ended);
  void stop();

  /// In the thread that has committed, before the next commit: queues what `read()` returns, unless it is empty. True
  /// if the run is to be woken.
  template <typename Read>
  bool hear(Read&& read) {
    return news_.add(CommitQueue::WhenEmpty::leaveOut, std::forward<Read>(read));
  }
  /// The run takes in what is queued.
  void wake();
  /// A message was settled by its id: `tell` tells subscribers.
  void settledOutside(std::shared_ptr<Core> core, delivery::SessionKey session, delivery::MessageKey key,
                      std::function<void(EventHub&)> tell);
  /// The peer asks for a deferred message again.
  void recalledOutside(delivery::SessionKey session, delivery::MessageKey key);
  /// Look for foreign commits now.
  void lookForCommits();

  /// With the gate held alone: nobody enters any more.
  void shut() noexcept { door_->engine.reset(); }

  /// After the end: what a run that ended by itself did.
  [[nodiscard]] const DrainReport& drained() const noexcept { return drained_; }
  /// After the end: why a `once` run ended early, if it did.
  [[nodiscard]] const std::error_code& failure() const noexcept { return failure_; }
  [[nodiscard]] const boost::asio::any_io_executor& strand() const noexcept { return strand_; }
  /// Whether waiting for the run's end in this thread could be waiting for itself, unless it is the manager's own.
  [[nodiscard]] bool needsThisThread() const noexcept {
    return thread_ != RunThread::own || senders_.runInThisThread();
  }

private:
  // How long a run holds still after the store refused a transaction.
  static constexpr std::chrono::milliseconds kStorePause{250};

  // Less is a clock that is being corrected.
  static constexpr std::chrono::milliseconds kCalendarMoved = std::chrono::minutes(1);
  // How long requests are answered before a shortage is said to be over.
  static constexpr std::chrono::milliseconds kShortageOver = std::chrono::seconds(10);

  struct Request {
    std::vector<store::ClaimedMessage> messages;
    std::uint64_t epoch = 0;
    // Of what was sent.
    std::vector<delivery::MessageKey> keys;
  };

  // What a sender is given to answer with.
  struct Word;

  using Requests = std::unordered_map<delivery::RequestId, Request>;

  // What a poll has seen.
  struct Poll {
    store::Vitals vitals;
    // Pages to be given back.
    bool untidy = false;
  };

  [[nodiscard]] std::shared_ptr<RunHandoff<Engine>> handoff();
  [[nodiscard]] std::error_code queueNews(const std::error_code& error) noexcept;
  void openWakeup();
  void takeIn();
  [[nodiscard]] delivery::Now now() const;
  void perform(delivery::Actions&& actions);
  void submitStep();
  void stepDoneHere();
  void stepDone(const std::shared_ptr<StepJob>& step);
  void stepFailed(StepJob& step);
  void applyHolds(delivery::Actions& actions);
  void tellOfStore(const std::error_code& error);
  void tellOfShortage(const SendReport& report);
  void tellOfCalendar();
  void tellOfProcess(bool isRaised, std::string sentence);
  void emit(StepJob& step);
  void watch(const store::Vitals& vitals, std::span<const delivery::PeerRecord> peers = {});
  void send(delivery::Actions::Send&& send);
  [[nodiscard]] delivery::MachineOptions machineOptions();
  void publishPeers();
  void answered(delivery::RequestId request, const SendReport& report);
  void onNews(News&& news, delivery::Actions& actions);
  void onClaim(delivery::RequestId request, store::ClaimReply&& reply, std::uint64_t epoch, delivery::Actions& actions);
  [[nodiscard]] static bool needsStore(const delivery::Actions& actions);
  void tick();
  void wakeLater();
  void poll();
  void pollLater();
  void watchNeighbours();
  void heardNeighbour();
  void discover();
  void beginDone(const std::vector<store::PeerRow>& peers);
  void giveUp();
  bool hasFailed(const std::error_code& error);
  void endIfDone();
  void finish();

  // Constant after construction.
  const boost::asio::any_io_executor strand_;
  const RunMode mode_;
  const RunThread thread_;

  Senders senders_;
  const std::shared_ptr<RunLink<Engine>> door_ = std::make_shared<RunLink<Engine>>();
  CommitQueue news_;
  // Null: the run is woken by a post. Constant after `begin`.
  std::shared_ptr<Wakeup> wakeup_;

  // Owned by the strand. The core lives at least as long as the run; `finish` lets go of it.
  std::shared_ptr<Core> core_;
  PolicyLookup policies_;
  delivery::Machine machine_;
  HealthWatch health_;
  const std::unique_ptr<Alarm> wakeAlarm_;
  const std::unique_ptr<Alarm> pollAlarm_;
  const std::unique_ptr<Alarm> pauseAlarm_;
  const std::unique_ptr<Alarm> stopAlarm_;
  // Of what others commit, and of their deaths; null: both are found by polls alone.
  std::shared_ptr<FileWatch> watch_;
  // Polls that are to follow soon, as something was heard.
  int pollsDue_ = 0;
  SteadyTime polledAt_{};
  Ended ended_;
  std::unordered_map<delivery::PeerKey, store::PeerRow> peers_;
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> sessionPeers_;
  Requests requests_;
  // Decided, not yet submitted.
  delivery::Actions pending_;
  bool stepUnderWay_ = false;
  // About sessions, told meanwhile.
  std::optional<delivery::HoldSnapshot> holds_;
  // Committed in this thread, not yet followed up.
  std::shared_ptr<StepJob> committed_;
  bool followsUp_ = false;
  bool pollUnderWay_ = false;
  bool paused_ = false;
  // The last step could not be committed, and that was told.
  bool isStoreRefusing_ = false;
  // Of the calendar over the monotonic clock, at the last poll.
  std::optional<std::chrono::milliseconds> calendarOffset_;
  // The process could not send, when last, and that was told.
  bool isShort_ = false;
  SteadyTime shortAt_{};
  bool begun_ = false;
  bool discovered_ = false;
  // The last news were not all, and no poll has begun since.
  bool isBehind_ = false;
  bool shared_ = false;
  bool untidy_ = false;
  // Until it was idle: nothing has been done since the last look for more.
  bool hasLooked_ = false;
  bool stopping_ = false;
  bool patienceOver_ = false;
  bool finished_ = false;
  StopReport stopReport_;
  DrainReport drained_;
  // Of a single pass: it ends as soon as nothing of it is with the writer.
  std::error_code failure_;
};

}  // namespace ackbox::manager
