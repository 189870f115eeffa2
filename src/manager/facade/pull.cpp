// The members of OutboxManager for callers who deliver by themselves.

#include "ackbox/claim.hpp"
#include "ackbox/outbox_manager.hpp"

#include "manager/facade/core.hpp"
#include "manager/run/puller.hpp"

namespace ackbox {

std::vector<Claim> OutboxManager::claim(std::size_t limit) {
  return core_->puller().claim(limit);
}

SettleStatus OutboxManager::settle(const Claim& claim, const FrameResult& result) {
  const ClaimResult one{claim.token, result};
  return core_->puller().settle(std::span<const ClaimResult>(&one, 1)).front();
}

SettleStatus OutboxManager::settle(const Claim& claim, Outcome outcome) {
  FrameResult result;
  result.outcome = outcome;
  return settle(claim, result);
}

std::vector<SettleStatus> OutboxManager::settleAll(std::span<const ClaimResult> results) {
  return core_->puller().settle(results);
}

SettleStatus OutboxManager::release(const Claim& claim, std::string_view peerError) {
  return core_->puller().release(claim.token, peerError);
}

RecoverReport OutboxManager::recoverStuck(std::chrono::milliseconds threshold) {
  return core_->puller().recoverStuck(threshold);
}

}  // namespace ackbox
