#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ackbox/failure.hpp"
#include "ackbox/random.hpp"
#include "ackbox/retry_policy.hpp"
#include "ackbox/sender.hpp"
#include "delivery/open_clock.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The actions that the machine asks for, in this order: settle, then claim (one store transaction), then send.
struct Actions {
  /// A request to assemble: claim these, then call `claimed`.
  struct Claim {
    RequestId request = 0;
    PeerKey peer = 0;
    /// The byte limit, counted by `wireBytes`, so that no more is read than is sent. The first row is claimed whatever
    /// its size.
    std::uint64_t bytesMax = 0;
    /// The limit of rows. More may be named: where other processes deliver too, some of those named have gone.
    std::size_t framesMax = 0;
    /// Never null.
    std::shared_ptr<const std::vector<SessionClaim>> sessions;
    /// When this was decided, all rows put back up to this number of recalls had been seen. In a session with a later
    /// recall, rows older than those asked for may wait.
    std::int64_t recalls = 0;
  };
  /// Send exactly these claimed rows, in this order, then call `answered`.
  struct Send {
    RequestId request = 0;
    PeerKey peer = 0;
    struct Item {
      SessionKey session = 0;
      MessageKey key = 0;
      std::uint64_t previousSequence = 0;
    };
    std::vector<Item> items;
  };

  /// Applied before the settlements, which may depend on the rows that an identity puts back.
  std::vector<PeerIdentity> identities;
  std::vector<Settlement> settlements;
  std::vector<SessionRelease> releases;
  std::vector<PeerRecord> peers;
  std::vector<Claim> claims;
  std::vector<Send> sends;

  [[nodiscard]] bool empty() const noexcept {
    return identities.empty() && settlements.empty() && releases.empty() && peers.empty() && claims.empty() &&
           sends.empty();
  }
};

/// A failure of the message itself, for the user's function that may decide on it. The texts are valid during the call.
struct Failure {
  /// For an unordered message, its unordered queue.
  SessionKey session = 0;
  const ClaimedRow& row;
  WallTime now{};
  std::string_view code;
  std::string_view detail;
  /// The policy's decision: a dead letter for `reason`, or another attempt.
  bool isFinal = false;
  std::string_view reason;
};

/// The options that the machine uses.
struct MachineOptions {
  RetryPolicy retry;
  PeerHealthPolicy peerHealth;
  std::uint32_t batchFrames = 256;
  std::size_t batchBytes = 768 * 1024;
  std::chrono::milliseconds ackTimeout = std::chrono::seconds(60);
  /// When to ask again for a session that another process had in flight.
  std::chrono::milliseconds sharedPollInterval = std::chrono::milliseconds(20);
  /// Called for each failure; may throw. Empty: the policies decide.
  std::function<FailureDecision(const Failure&)> onFailure = {};
  /// Whether a peer that the previous run left down still counts as down, so that it is probed first.
  bool restoresHealth = true;
  /// How long the file must have been open here before messages older than the opening fail because of their age.
  std::chrono::milliseconds horizonGrace = kHorizonGrace;
  /// Measures the age of messages. The owner of the file keeps it across its successive machines; null: the machine
  /// uses its own.
  OpenClock* openClock = nullptr;
};

/// A peer's health, for stats and explanations.
struct PeerView {
  bool down = false;
  std::uint32_t failures = 0;
  WallTime downSince{};
  WallTime nextProbeAt{};
  std::string error;
  PeerHold hold = PeerHold::none;
  bool isPaused = false;
  std::uint32_t requestsInFlight = 0;
  std::size_t readySessions = 0;
  /// The end of a wait for its rate limit.
  SteadyTime limitedUntil{};
  /// The time for which its rate limit made frames wait; the wait under way is counted whole.
  std::chrono::nanoseconds rateLimited{0};
};

/// Decides which messages are sent when, and their outcome: `(state, event, now) -> actions`. Knows no clock, no disk
/// and no network. The session is the unit of claim: at most one request of a session is in flight.
///
/// Each event appends to `actions`. After `claims`, exactly one `claimed` per claim must follow; after `sends`, exactly
/// one `answered` per send; settlements and releases need no answer.
///
/// Thread-safety: none; owned by one strand.
class Machine {
public:
  Machine(MachineOptions options, Random& random);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// A configured peer. `maxRequests` ≥ 1 may be in flight at once, with `creditFrames` ≥ 1 frames each until the peer
  /// states its own limit. For a known peer: changes its limits.
  void peerAdded(PeerKey peer, std::uint32_t maxRequests, std::uint32_t creditFrames = 256,
                 const RateLimit& rateLimit = {});

  /// The peer's own store as this file has recorded it.
  void peerKnown(PeerKey peer, std::string store, std::uint64_t storeEpoch);

  /// Applies the current holds: peers stop or go on, and halted sessions that are no longer listed go on.
  void applyHolds(const HoldSnapshot& holds, const Now& now, Actions& actions);

  /// Live rows in key order, and their sessions that are new. Sessions of peers never added stay where they are. A row
  /// that is already known is ignored. `recalls`: all rows put back up to this number of recalls have now been seen;
  /// later claims carry this number.
  void rowsSeen(std::span<const SessionInfo> sessions, std::span<const RowSeen> rows, const Now& now, Actions& actions,
                std::optional<std::int64_t> recalls = {});

  /// The store's answer to `Actions::Claim`, one entry per session asked for, in the order asked. Yields at most one
  /// `Send`; rows past their expiry or horizon are failed instead; rows beyond the batch's bytes are released.
  /// `ownEpoch` is the store's epoch at the claim; the request carries it.
  void claimed(RequestId request, std::span<const SessionClaimed> sessions, std::uint64_t ownEpoch, const Now& now,
               Actions& actions);

  /// The claim could not be carried out (the database is busy or the disk is full): all of it is queued again and tried
  /// after `pause`. With `isTooLarge`, for example when memory was short, the requests are smaller and grow again with
  /// each answer.
  void claimFailed(RequestId request, std::chrono::milliseconds pause, const Now& now, Actions& actions,
                   bool isTooLarge = false);

  /// The end of a request. `report.results` is trusted only if it has one entry per sent item; otherwise the answer
  /// counts as `peerUnavailable`.
  void answered(RequestId request, const SendReport& report, const Now& now, Actions& actions);

  /// The message was settled from outside (an ACK event, an operator): forget it wherever it waits. If it is in flight,
  /// its settlement will be a no-op in the store.
  void forget(SessionKey session, MessageKey key);

  /// The peer asks for a deferred message again: it is pending at once, and charged. No effect if it is not deferred.
  void recalled(SessionKey session, MessageKey key, const Now& now, Actions& actions);

  /// Time has passed: wakes sessions, probes and deadlines that are due, and claims the sessions that may go.
  void tick(const Now& now, Actions& actions);

  /// Whether new claims may be made; on by default. `tick` after turning it on.
  void setClaiming(bool on);
  /// How many more requests may be started until the next call; no limit by default. Peers take turns.
  void setClaimBudget(std::size_t requests);

  /// The next instant at which `tick` has work to do; nothing if only events can bring work.
  [[nodiscard]] std::optional<SteadyTime> nextWake() const;

  /// Claims and sends not answered yet.
  [[nodiscard]] std::size_t requestsInFlight() const;

  /// The requests sent and not answered yet, in the order of their claims.
  [[nodiscard]] std::vector<RequestId> requestsSent() const;

  [[nodiscard]] std::optional<PeerView> peer(PeerKey key) const;

  /// Peers with a view that may have changed since the last call.
  [[nodiscard]] std::vector<PeerKey> takeChangedPeers();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::delivery
