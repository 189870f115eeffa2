#include "manager/run/claim_ledger.hpp"

#include <algorithm>

#include "ackbox/error.hpp"

namespace ackbox::manager {

ClaimToken ClaimLedger::add(const Outstanding& claim, std::uint32_t attempt) {
  outstanding_.emplace(++lastNumber_, claim);
  return {lastNumber_, owner_, attempt};
}

ClaimLedger::Standing ClaimLedger::standingOf(const ClaimToken& token) const {
  if (outstanding_.contains(token.number) && token.owner == owner_) {
    return Standing::outstanding;
  }
  if (token.owner != owner_ || (token.number < firstNumber_ && token.number > 0) || recovered_.contains(token.number)) {
    return Standing::late;
  }
  if (decided_.contains(token.number)) {
    return Standing::decided;
  }
  throw Error(Errc::invalidTransition, token.number > lastNumber_ || token.number == 0
                                           ? "no such claim was given out"
                                           : "the claim was settled or released before");
}

ClaimLedger::Outstanding ClaimLedger::decide(Number number) {
  const auto place = outstanding_.find(number);
  const Outstanding claimed = place->second;
  outstanding_.erase(place);
  decided_.emplace(number, std::pair(claimed.key, std::nullopt));
  return claimed;
}

void ClaimLedger::committed(std::span<const delivery::Settlement> settlements,
                            std::span<const std::optional<store::SettledMessage>> settled) {
  if (decided_.empty()) {
    return;
  }
  std::unordered_map<delivery::MessageKey, bool> applied;
  for (std::size_t index = 0; index < settled.size(); ++index) {
    applied.insert_or_assign(settlements[index].key, settled[index].has_value());
  }
  for (auto& [number, decided] : decided_) {
    const auto place = applied.find(decided.first);
    if (!decided.second && place != applied.end()) {
      decided.second = place->second ? SettleStatus::settled : SettleStatus::late;
    }
  }
}

SettleStatus ClaimLedger::takeStatus(Number number) {
  const auto place = decided_.find(number);
  const SettleStatus status =
      place == decided_.end() ? SettleStatus::late : place->second.second.value_or(SettleStatus::late);
  if (place != decided_.end()) {
    decided_.erase(place);
  }
  return status;
}

std::vector<ClaimLedger::Number> ClaimLedger::claimedUntil(SteadyTime until) const {
  std::vector<Number> numbers;
  for (const auto& [number, claim] : outstanding_) {
    if (claim.since <= until) {
      numbers.push_back(number);
    }
  }
  // Claims are numbered in order.
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void ClaimLedger::close() noexcept {
  outstanding_.clear();
  decided_.clear();
  recovered_.clear();
  firstNumber_ = lastNumber_ + 1;
}

}  // namespace ackbox::manager
