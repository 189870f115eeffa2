#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackbox/claim.hpp"
#include "ackbox/run_report.hpp"
#include "base/mutex.hpp"
#include "delivery/pending_step.hpp"
#include "manager/run/claim_ledger.hpp"
#include "manager/run/policy_lookup.hpp"
#include "manager/run/step_events.hpp"
#include "manager/run/step_job.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

class Core;

/// Gives messages to callers that deliver them themselves. It uses the same machine as a run, with the caller in place
/// of the sender, so that order, retries, deadlines and peers' health are the same. Each request has one message, so
/// that each is settled separately.
///
/// Open from the first claim until a run takes over or `stop`.
///
/// Thread-safety: all members may be called from any thread, also from event callbacks, but not on the writer's thread,
/// which they wait for; only `settledOutside` may be called there.
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
  /// Releases the claimed messages, and closes.
  StopReport stop();
  /// The message was settled: it is gone, or no longer waits.
  void settledOutside(delivery::SessionKey session, delivery::MessageKey key);

private:
  enum class Look : bool { no, yes };
  using Number = ClaimLedger::Number;

  /// Runs `work` exclusively, then reports its commits to subscribers.
  template <typename Work>
  auto serialized(Work work) ACKBOX_EXCLUDES(mutex_);
  void open() ACKBOX_REQUIRES(mutex_);
  void close() noexcept ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] delivery::Now now() const;
  void forgetSettled() ACKBOX_REQUIRES(mutex_);
  /// Takes the caller's answer to one claim; adds the resulting decisions to `pending_`.
  void decide(Number number, const SendReport& report) ACKBOX_REQUIRES(mutex_);
  /// Commits `pending_`, looks for new rows and dead owners if asked, and returns whether a further claim may find new
  /// rows. Appends the claimed messages to `taken`. After an exception the state is as before, and the decisions wait
  /// in `pending_`.
  bool commit(Look look, std::vector<Claim>& taken) ACKBOX_REQUIRES(mutex_);
  void commitDecided() ACKBOX_REQUIRES(mutex_);
  void addTaken(StepJob& step, std::vector<Claim>& taken) ACKBOX_REQUIRES(mutex_);
  void addPeers(std::span<const store::PeerRow> peers) ACKBOX_REQUIRES(mutex_);
  void announce() ACKBOX_EXCLUDES(mutex_, announceMutex_);

  Core& core_;

  Mutex mutex_;
  // Both null: closed.
  std::unique_ptr<PolicyLookup> policies_ ACKBOX_GUARDED_BY(mutex_);
  std::unique_ptr<delivery::Machine> machine_ ACKBOX_GUARDED_BY(mutex_);
  std::unordered_map<delivery::PeerKey, store::PeerRow> peers_ ACKBOX_GUARDED_BY(mutex_);
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> sessionPeers_ ACKBOX_GUARDED_BY(mutex_);
  ClaimLedger ledger_ ACKBOX_GUARDED_BY(mutex_);
  delivery::PendingStep pending_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t deadOwners_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool mustRestart_ ACKBOX_GUARDED_BY(mutex_) = true;
  bool moreUnread_ ACKBOX_GUARDED_BY(mutex_) = false;

  Mutex settledMutex_;
  bool listening_ ACKBOX_GUARDED_BY(settledMutex_) = false;
  std::vector<std::pair<delivery::SessionKey, delivery::MessageKey>> settled_ ACKBOX_GUARDED_BY(settledMutex_);

  Mutex announceMutex_;
  std::deque<StepEvents> announcements_ ACKBOX_GUARDED_BY(announceMutex_);
  bool announcing_ ACKBOX_GUARDED_BY(announceMutex_) = false;
};

}  // namespace ackbox::manager
