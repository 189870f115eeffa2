#include "ackbox/pull.hpp"

#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/run/puller.hpp"

namespace ackbox {

PullConsumer::PullConsumer(OutboxManager& manager) : core_(manager::CoreOf::manager(manager)) {}

std::vector<Claim> PullConsumer::claim(std::size_t limit) {
  return manager::here(core_).puller().claim(limit);
}

SettleStatus PullConsumer::settle(const Claim& claim, const FrameResult& result) {
  const ClaimResult one{claim.token, result};
  return manager::here(core_).puller().settle(std::span<const ClaimResult>(&one, 1)).front();
}

SettleStatus PullConsumer::settle(const Claim& claim, Outcome outcome) {
  FrameResult result;
  result.outcome = outcome;
  return settle(claim, result);
}

std::vector<SettleStatus> PullConsumer::settleAll(std::span<const ClaimResult> results) {
  return manager::here(core_).puller().settle(results);
}

SettleStatus PullConsumer::release(const Claim& claim, std::string_view peerError) {
  return manager::here(core_).puller().release(claim.token, peerError);
}

RecoverReport PullConsumer::recoverStuck(std::chrono::milliseconds threshold) {
  return manager::here(core_).puller().recoverStuck(threshold);
}

}  // namespace ackbox
