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

/// What the machine wants done, in this order: settle, then claim (one store transaction), then send.
struct Actions {
  /// A request to assemble: claim these, then call `claimed`.
  struct Claim {
    RequestId request = 0;
    PeerKey peer = 0;
    /// The most that it may bring, as `wireBytes` counts, so that no more is read than is sent; the first row comes
    /// whatever its size.
    std::uint64_t bytesMax = 0;
    /// Never null.
    std::shared_ptr<const std::vector<SessionClaim>> sessions;
    /// Rows that were put back have been seen up to this number of recalls when this was decided: of a session with
    /// later ones, older rows may wait than it asks for.
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

  /// Before the settlements: those that follow may build on what it puts back.
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

/// A failure that is a message's own, for the user's function that may decide on it. The texts are valid during the
/// call.
struct Failure {
  /// For an unordered message, its unordered queue.
  SessionKey session = 0;
  const ClaimedRow& row;
  WallTime now{};
  std::string_view code;
  std::string_view detail;
  /// What becomes of the message by policy: a dead letter for `reason`, or another try.
  bool isFinal = false;
  std::string_view reason;
};

/// What the machine needs to know of its options.
struct MachineOptions {
  RetryPolicy retry;
  PeerHealthPolicy peerHealth;
  std::uint32_t batchFrames = 256;
  std::size_t batchBytes = 768 * 1024;
  std::chrono::milliseconds ackTimeout = std::chrono::seconds(60);
  /// When to ask again for a session that another process had in flight.
  std::chrono::milliseconds sharedPollInterval = std::chrono::milliseconds(20);
  /// Asked of each failure; may throw. Empty: the policies decide.
  std::function<FailureDecision(const Failure&)> onFailure = {};
  /// Whether a peer that the run before left down is taken to be down still, and asked with a probe first.
  bool restoresHealth = true;
  /// How long the file must have been open here before messages from before it was opened are given up by their age.
  std::chrono::milliseconds horizonGrace = kHorizonGrace;
  /// The age of messages, kept by the owner of the file over all its machines, one after the other; null: the machine
  /// has one of its own.
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
  /// While its rate limit, or a pause of the store, keeps it waiting.
  SteadyTime pausedUntil{};
};

/// Decides what is sent when, and what becomes of it: `(state, event, now) -> actions`. Knows no clock, no disk and no
/// network. The session is the unit of claim: at most one request of a session is in flight.
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

  /// A configured peer. `maxRequests` ≥ 1 may be in flight at once, with `creditFrames` ≥ 1 frames each until it says
  /// how many it takes. Again for a known peer: changes its limits.
  void peerAdded(PeerKey peer, std::uint32_t maxRequests, std::uint32_t creditFrames = 256,
                 const RateLimit& rateLimit = {});

  /// What the file knows of the peer's own store.
  void peerKnown(PeerKey peer, std::string store, std::uint64_t storeEpoch);

  /// The standing orders, as of now: peers stop or go on, sessions that were refused as halted and are not named any
  /// more go on.
  void applyHolds(const HoldSnapshot& holds, const Now& now, Actions& actions);

  /// Live rows in key order, and the sessions among them that are new. Sessions of peers never added stay where they
  /// are. A row that is known already is ignored. `recalls`: with these, all rows that were put back up to that number
  /// of recalls have been seen; claims say so from now on.
  void rowsSeen(std::span<const SessionInfo> sessions, std::span<const RowSeen> rows, const Now& now, Actions& actions,
                std::optional<std::int64_t> recalls = {});

  /// The store's answer to `Actions::Claim`, one entry per session asked for, in the order asked. Yields at most one
  /// `Send`; rows past their expiry or horizon are failed instead; rows beyond the batch's bytes are released.
  /// `ownEpoch` is the store's as of the claim, which the request carries.
  void claimed(RequestId request, std::span<const SessionClaimed> sessions, std::uint64_t ownEpoch, const Now& now,
               Actions& actions);

  /// The claim could not be carried out (the database is busy or the disk is full): everything goes back and is tried
  /// again after `pause`; `isTooLarge`, as when there was not the memory for it, in smaller requests, which grow again
  /// with each answer.
  void claimFailed(RequestId request, std::chrono::milliseconds pause, const Now& now, Actions& actions,
                   bool isTooLarge = false);

  /// The end of a request. `report.results` is trusted only if its size is that of the sent items; otherwise the
  /// answer counts as `peerUnavailable`.
  void answered(RequestId request, const SendReport& report, const Now& now, Actions& actions);

  /// The message was settled from outside (an ACK event, an operator): forget it wherever it waits. In flight, its
  /// settle will be a no-op in the store.
  void forget(SessionKey session, MessageKey key);

  /// The peer asks to be sent a deferred message again: pending, charged, at once. Nothing happens when it is not
  /// deferred.
  void recalled(SessionKey session, MessageKey key, const Now& now, Actions& actions);

  /// Time has passed: wakes sessions, probes and deadlines that are due, and claims what may be claimed.
  void tick(const Now& now, Actions& actions);

  /// Whether new claims may be made; on by default. `tick` after turning it on.
  void setClaiming(bool on);
  /// How many more requests may be started, until it is said anew; no limit by default. Peers take turns.
  void setClaimBudget(std::size_t requests);

  /// The next instant at which `tick` would do something; nothing when only events can.
  [[nodiscard]] std::optional<SteadyTime> nextWake() const;

  /// Claims and sends that are not answered yet.
  [[nodiscard]] std::size_t requestsInFlight() const;

  /// The requests that are sent and not answered yet, in the order of their claims.
  [[nodiscard]] std::vector<RequestId> requestsSent() const;

  [[nodiscard]] std::optional<PeerView> peer(PeerKey key) const;

  /// Peers whose view may have changed since this was asked last.
  [[nodiscard]] std::vector<PeerKey> takeChangedPeers();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::delivery
