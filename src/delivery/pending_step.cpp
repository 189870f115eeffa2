#include "delivery/pending_step.hpp"

#include <iterator>
#include <utility>

namespace ackbox::delivery {
namespace {

template <typename Item>
void append(std::vector<Item>& target, std::vector<Item>& source) {
  if (target.empty()) {
    target.swap(source);
    return;
  }
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
  source.clear();
}

}  // namespace

void PendingStep::add(Actions&& decided) {
  append(gathered_.identities, decided.identities);
  append(gathered_.settlements, decided.settlements);
  append(gathered_.releases, decided.releases);
  append(gathered_.peers, decided.peers);
  append(gathered_.claims, decided.claims);
}

bool PendingStep::hasDecisions() const noexcept {
  return !gathered_.identities.empty() || !gathered_.settlements.empty() || !gathered_.releases.empty() ||
         !gathered_.peers.empty();
}

bool PendingStep::isLone() const {
  std::size_t claimed = 0;
  for (const Actions::Claim& claim : gathered_.claims) {
    claimed += claim.framesMax;
  }
  return gathered_.settlements.size() <= 1 && claimed <= 1;
}

void PendingStep::reserve(std::size_t messages) {
  gathered_.settlements.reserve(gathered_.settlements.size() + messages);
  gathered_.releases.reserve(gathered_.releases.size() + messages);
}

Actions PendingStep::take() noexcept {
  return std::exchange(gathered_, {});
}

void PendingStep::putBack(Actions&& step, Machine& machine, std::chrono::milliseconds pause, bool isTooLarge,
                          const Now& now, Actions& later) {
  for (const Actions::Claim& claim : std::exchange(step.claims, {})) {
    machine.claimFailed(claim.request, pause, now, later, isTooLarge);
  }
  PendingStep front;
  front.gathered_ = std::move(step);
  front.add(std::move(gathered_));
  gathered_ = front.take();
}

void PendingStep::dropClaims(Machine& machine, const Now& now, Actions& later) {
  for (const Actions::Claim& claim : std::exchange(gathered_.claims, {})) {
    machine.claimFailed(claim.request, std::chrono::milliseconds(0), now, later);
  }
}

}  // namespace ackbox::delivery
