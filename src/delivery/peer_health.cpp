#include "delivery/peer_health.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "delivery/due.hpp"

namespace ackbox::delivery {
namespace {

// With this value, at least a quarter of the requests must be answered.
constexpr std::uint32_t kLossesPerAnswer = 3;

// The number of messages tried at each delay while the peer refuses them. A peer that takes 4 in 10 refuses 16 in a row
// once in 3,500 times.
constexpr std::uint32_t kRefusedPerStep = 8;

// Uniform in [bound / 2, bound].
std::chrono::milliseconds halfJitter(std::chrono::milliseconds bound, Random& random) {
  const auto half = bound.count() / 2;
  const auto choices = static_cast<std::uint64_t>(bound.count() - half) + 1;
  return std::chrono::milliseconds(half + static_cast<std::chrono::milliseconds::rep>(random.next() % choices));
}

}  // namespace

bool PeerHealth::failed(std::uint64_t requestEpoch, Failure failure, const std::string& error,
                        std::optional<std::chrono::milliseconds> retryAfter, const Evidence& evidence,
                        const PeerHealthPolicy& policy, Random& random, const Now& now) {
  if (requestEpoch != epoch_) {
    return false;
  }
  ++epoch_;
  losses_ = 0;
  if (!down_) {
    down_ = true;
    downSince_ = now.wall;
  }
  ++failures_;
  error_ = error;
  if (failure == Failure::gone) {
    hold_ = PeerHold::disabled;
    probeAt_ = SteadyTime::max();
    probeOtherAt_ = probeAt_;
    nextProbeAt_ = {};
    return true;
  }
  hold_ = failure == Failure::refused ? PeerHold::held : PeerHold::none;
  const auto waitAt = [&](std::uint32_t failures) {
    const std::size_t step = std::min<std::size_t>(failures, policy.probeDelays.size()) - 1;
    return std::max(halfJitter(policy.probeDelays[step], random),
                    boundedWait(retryAfter.value_or(std::chrono::milliseconds(0))));
  };
  constexpr std::uint32_t kSlowest = std::numeric_limits<std::uint32_t>::max();
  const auto wait =
      waitAt(failure == Failure::refused ? kSlowest : failures_ - std::min(failures_ - 1, evidence.byChance));
  const bool asksOthers = (failure == Failure::refused || evidence.isUnclear) && evidence.refused > 0;
  const auto waitOther = asksOthers ? std::min(wait, waitAt(1 + (evidence.refused - 1) / kRefusedPerStep)) : wait;
  probeAt_ = now.steady + wait;
  probeOtherAt_ = now.steady + waitOther;
  nextProbeAt_ = now.wall + (evidence.hasOthers ? waitOther : wait);
  return true;
}

bool PeerHealth::lost(std::uint64_t requestEpoch, const PeerHealthPolicy& policy) {
  if (!down_ && requestEpoch == epoch_) {
    ++losses_;
  }
  return down_ || losses_ >= policy.lossTolerance;
}

void PeerHealth::probeNow(const Now& now) {
  if (!down_) {
    return;
  }
  if (hold_ == PeerHold::disabled) {
    hold_ = PeerHold::held;
  }
  probeAt_ = now.steady;
  probeOtherAt_ = probeAt_;
  nextProbeAt_ = now.wall;
}

void PeerHealth::disable(const PeerRecord& record) {
  ++epoch_;
  down_ = true;
  hold_ = PeerHold::disabled;
  failures_ = std::max(failures_, record.failures);
  downSince_ = record.downSince;
  error_ = record.error;
  probeAt_ = SteadyTime::max();
  probeOtherAt_ = probeAt_;
  nextProbeAt_ = {};
}

void PeerHealth::restore(const PeerRecord& record, const Now& now) {
  down_ = true;
  hold_ = record.hold;
  failures_ = record.failures;
  downSince_ = record.downSince;
  error_ = record.error;
  probeNow(now);
}

bool PeerHealth::succeeded() {
  losses_ -= std::min(losses_, kLossesPerAnswer);
  if (!down_) {
    return false;
  }
  down_ = false;
  hold_ = PeerHold::none;
  failures_ = 0;
  downSince_ = {};
  nextProbeAt_ = {};
  error_.clear();
  return true;
}

PeerRecord PeerHealth::record(PeerKey peer) const {
  return {.peer = peer,
          .down = down_,
          .hold = hold_,
          .failures = failures_,
          .downSince = downSince_,
          .nextProbeAt = nextProbeAt_,
          .error = error_};
}

}  // namespace ackbox::delivery
