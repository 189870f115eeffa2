#pragma once

#include <optional>
#include <string>

#include "ackbox/random.hpp"
#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// Whether a peer answers, and when it is probed if it does not. An outage is recorded only here: no message is charged
/// for it (P8).
class PeerHealth {
public:
  /// How a whole request failed.
  enum class Failure : std::uint8_t {
    /// Try again soon.
    unavailable,
    /// An operator has to fix something: probe at the slowest pace.
    refused,
    /// It is gone for good: do not probe until it is resumed.
    gone,
  };

  /// The evidence on whether a refusal is about the peer or about its messages.
  struct Evidence {
    /// Messages that it refused since it took one, each counted once, less those expected by chance; 0: it refuses no
    /// message.
    std::uint32_t refused = 0;
    /// There are other messages to probe with.
    bool hasOthers = false;
    /// Failures in a row that may be caused by messages, because the peer has refused some for themselves.
    std::uint32_t byChance = 0;
    /// The answer may be about messages, whatever the failure.
    bool isUnclear = false;
  };

  /// Each request carries the epoch at its start: when several fail together, only the first one moves the backoff.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool down() const noexcept { return down_; }
  [[nodiscard]] PeerHold hold() const noexcept { return hold_; }
  /// Never for a disabled peer.
  [[nodiscard]] SteadyTime probeAt() const noexcept { return probeAt_; }
  /// The same for a message that it has not refused yet. This may be sooner, as each such message adds evidence.
  [[nodiscard]] SteadyTime probeOtherAt() const noexcept { return probeOtherAt_; }

  /// Returns false if another failure of the same epoch was already counted.
  bool failed(std::uint64_t requestEpoch, Failure failure, const std::string& error,
              std::optional<std::chrono::milliseconds> retryAfter, const Evidence& evidence,
              const PeerHealthPolicy& policy, Random& random, const Now& now);

  /// A connection was lost. Returns true if the peer is down, or has too many more losses than answers.
  [[nodiscard]] bool lost(std::uint64_t requestEpoch, const PeerHealthPolicy& policy);

  /// The cause may be fixed: the peer may be probed at once.
  void probeNow(const Now& now);
  /// Another process has found the peer gone.
  void disable(const PeerRecord& record);
  /// Restores the state that the previous run left, but probes at once.
  void restore(const PeerRecord& record, const Now& now);

  /// The peer has answered. Returns true when it was down before.
  bool succeeded();

  [[nodiscard]] PeerRecord record(PeerKey peer) const;

private:
  bool down_ = false;
  PeerHold hold_ = PeerHold::none;
  std::uint32_t failures_ = 0;
  // Connections lost while the peer is up, reduced by each answer.
  std::uint32_t losses_ = 0;
  std::uint64_t epoch_ = 0;
  SteadyTime probeAt_{};
  SteadyTime probeOtherAt_{};
  WallTime downSince_{};
  WallTime nextProbeAt_{};
  std::string error_;
};

}  // namespace ackbox::delivery
