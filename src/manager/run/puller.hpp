#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ackbox/claim.hpp"
#include "ackbox/run_report.hpp"
#include "delivery/pending_step.hpp"
#include "manager/run/policy_lookup.hpp"
#include "manager/run/step_events.hpp"
#include "manager/run/step_job.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

class Core;

/// Messages for callers that deliver by themselves: the same machine as a run's decides, with the caller in the
/// sender's place, so that order, retries, deadlines and peers' health are the same. One message a request, so that
/// each is settled in its own right.
///
/// Open from the first claim until a run takes over or `stop`.
///
/// Thread-safety: all members may be called from any thread, also from event callbacks, but never on the writer's
/// thread, which they wait for; `settledOutside` may be called there, too.
class Puller {
public:
  /// `core` owns the puller.
  explicit Puller(Core& core);

  std::vector<Claim> claim(std::size_t limit);
  std::vector<SettleStatus> settle(std::span<const ClaimResult> results);
  SettleStatus release(const ClaimToken& token, std::string_view peerError);
  RecoverReport recoverStuck(std::chrono::milliseconds threshold);
  /// Closes, so that a run may begin. Throws `alreadyRunning` while claims are outstanding.
  void yieldToRun();
  /// Puts back what is claimed, and closes.
  StopReport stop();
  /// The message is gone, or no longer waits.
  void settledOutside(delivery::SessionKey session, delivery::MessageKey key);

private:
  /// One claim that its caller still has.
  struct Outstanding {
    delivery::RequestId request = 0;
    delivery::MessageKey key = 0;
    SteadyTime since{};
  };
  enum class Standing : std::uint8_t { outstanding, decided, late };
  enum class Look : bool { no, yes };
  using Number = std::uint64_t;

  /// Runs `work` alone, then reports to subscribers what it committed.
  template <typename Work>
  auto alone(Work work);
  void open();
  void close() noexcept;
  [[nodiscard]] delivery::Now now() const;
  void forgetSettled();
  [[nodiscard]] Standing standingOf(const ClaimToken& token) const;
  /// The caller's answer to one claim; `pending_` grows by what follows from it.
  void decide(Number number, const SendReport& report);
  /// What became of a claim that was decided, after its commit.
  SettleStatus statusOf(Number number);
  /// Commits what is pending, looks for new rows and dead owners if asked, and returns whether a further claim may find
  /// something new. Appends to `taken` what its claims brought. After a throw everything is as before, and what was
  /// decided waits in `pending_`.
  bool commit(Look look, std::vector<Claim>& taken);
  void commitDecided();
  void addTaken(StepJob& step, std::vector<Claim>& taken);
  void addPeers(std::span<const store::PeerRow> peers);
  void keepStatuses(const StepJob& step);
  void announce();

  Core& core_;

  std::mutex mutex_;
  // Guarded by mutex_. Both null: closed.
  std::unique_ptr<PolicyLookup> policies_;
  std::unique_ptr<delivery::Machine> machine_;
  std::unordered_map<delivery::PeerKey, store::PeerRow> peers_;
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> sessionPeers_;
  std::unordered_map<Number, Outstanding> outstanding_;
  // Decided, and perhaps not committed yet: then the value is empty.
  std::unordered_map<Number, std::pair<delivery::MessageKey, std::optional<SettleStatus>>> decided_;
  // Taken back while their callers had them.
  std::unordered_set<Number> recovered_;
  delivery::PendingStep pending_;
  Number lastNumber_ = 0;
  // Of this opening; claims before it are late.
  Number firstNumber_ = 1;
  std::int64_t owner_ = 0;
  std::uint64_t buried_ = 0;
  bool mustRestart_ = true;
  bool moreUnread_ = false;

  std::mutex settledMutex_;
  // Guarded by settledMutex_.
  bool listening_ = false;
  std::vector<std::pair<delivery::SessionKey, delivery::MessageKey>> settled_;

  std::mutex announceMutex_;
  // Guarded by announceMutex_.
  std::deque<StepEvents> announcements_;
  bool announcing_ = false;
};

}  // namespace ackbox::manager
