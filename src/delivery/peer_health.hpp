#pragma once

#include <optional>
#include <string>

#include "ackbox/random.hpp"
#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// Whether a peer answers, and when it is asked again if it does not. An outage is kept here and nowhere else: no
/// message is charged for it (P8).
class PeerHealth {
public:
  /// How a request as a whole failed.
  enum class Failure : std::uint8_t {
    /// Try again soon.
    unavailable,
    /// Someone has to mend something: ask at the slowest pace.
    refused,
    /// It is gone for good: do not ask until someone says so.
    gone,
  };

  /// What is known of a peer that refuses.
  struct Evidence {
    /// Messages that it refused, each counted once, since it took one, less those of chance; 0: what it refuses is no
    /// message.
    std::uint32_t refused = 0;
    /// There are others that it can be asked with.
    bool hasOthers = false;
    /// Failures in a row that may be its messages' own, as it has refused some for themselves.
    std::uint32_t byChance = 0;
    /// What it answers may be about its messages, whatever the failure.
    bool isUnclear = false;
  };

  /// Requests carry the epoch of their start: of several that fail together, only the first moves the backoff.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool down() const noexcept { return down_; }
  [[nodiscard]] PeerHold hold() const noexcept { return hold_; }
  /// Never for a disabled peer.
  [[nodiscard]] SteadyTime probeAt() const noexcept { return probeAt_; }
  /// The same with a message that it has not refused yet: where it refuses, that may be soon, as each one says more.
  [[nodiscard]] SteadyTime probeOtherAt() const noexcept { return probeOtherAt_; }

  /// Returns false when another failure of the same epoch was counted before.
  bool failed(std::uint64_t requestEpoch, Failure failure, const std::string& error,
              std::optional<std::chrono::milliseconds> retryAfter, const Evidence& evidence,
              const PeerHealthPolicy& policy, Random& random, const Now& now);

  /// A connection was lost. True when the peer is down, or so many more were lost than answered that it is to be.
  [[nodiscard]] bool lost(std::uint64_t requestEpoch, const PeerHealthPolicy& policy);

  /// Someone says that it is mended: it may be asked at once.
  void probeNow(const Now& now);
  /// Another process found it gone.
  void disable(const PeerRecord& record);
  /// Takes up where the run before left it, but asks at once.
  void restore(const PeerRecord& record, const Now& now);

  /// The peer has answered. Returns true when it was down before.
  bool succeeded();

  [[nodiscard]] PeerRecord record(PeerKey peer) const;

private:
  bool down_ = false;
  PeerHold hold_ = PeerHold::none;
  std::uint32_t failures_ = 0;
  // Connections lost while it is up, less what answers have made up for.
  std::uint32_t losses_ = 0;
  std::uint64_t epoch_ = 0;
  SteadyTime probeAt_{};
  SteadyTime probeOtherAt_{};
  WallTime downSince_{};
  WallTime nextProbeAt_{};
  std::string error_;
};

}  // namespace ackbox::delivery
