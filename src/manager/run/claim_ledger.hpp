#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ackbox/claim.hpp"
#include "ackbox/clock.hpp"
#include "delivery/machine.hpp"
#include "store/types.hpp"

namespace ackbox::manager {

/// The claims that were given to callers: the outstanding ones, and the outcomes of the decided ones.
///
/// Thread-safety: none.
class ClaimLedger {
public:
  using Number = std::uint64_t;
  /// A claim that its caller still holds.
  struct Outstanding {
    delivery::RequestId request = 0;
    delivery::MessageKey key = 0;
    SteadyTime since{};
  };
  enum class Standing : std::uint8_t {
    outstanding,
    /// Settled or released; its status has not been taken yet.
    decided,
    /// Of another opening of the file, or taken back: the caller could not know.
    late,
  };

  /// The owner of all further claims.
  void setOwner(std::int64_t owner) noexcept { owner_ = owner; }
  /// Returns the token of a new claim.
  ClaimToken add(const Outstanding& claim, std::uint32_t attempt);
  /// Throws `invalidTransition` for a claim that was not given out, or with a status that was already taken.
  [[nodiscard]] Standing standingOf(const ClaimToken& token) const;
  /// An outstanding claim is decided; returns that claim.
  Outstanding decide(Number number);
  /// A decided claim was taken back while its caller held it.
  void noteRecovered(Number number) { recovered_.insert(number); }
  /// The results of committed settlements, one entry for each.
  void committed(std::span<const delivery::Settlement> settlements,
                 std::span<const std::optional<store::SettledMessage>> settled);
  /// The status of a decided claim, after its commit; forgets the claim.
  SettleStatus takeStatus(Number number);
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.size(); }
  /// The outstanding claims that were given out at `until` or before, in their order.
  [[nodiscard]] std::vector<Number> claimedUntil(SteadyTime until) const;
  /// Earlier claims are late from here on.
  void close() noexcept;

private:
  /// The outcome of a decided claim; empty if it may not be committed yet.
  using Decided = std::pair<delivery::MessageKey, std::optional<SettleStatus>>;

  std::unordered_map<Number, Outstanding> outstanding_;
  std::unordered_map<Number, Decided> decided_;
  std::unordered_set<Number> recovered_;
  Number lastNumber_ = 0;
  // The first number of this opening.
  Number firstNumber_ = 1;
  std::int64_t owner_ = 0;
};

}  // namespace ackbox::manager
