#include "delivery/verdict.hpp"

#include <algorithm>

#include "delivery/due.hpp"

namespace ackbox::delivery {
namespace {

bool horizonPassed(const RetryPolicy& retry, const ClaimedRow& row, WallTime now) {
  const WallTime start = std::max(row.enqueuedAt, row.notBefore.value_or(row.enqueuedAt));
  return retry.horizon.count() > 0 && now - start >= retry.horizon;
}

}  // namespace

std::string whyNotSend(const MachineOptions& options, const ClaimedRow& row, WallTime now) {
  if (row.expiresAt && *row.expiresAt <= now) {
    return "expired";
  }
  return horizonPassed(options.retry, row, now) ? "horizon" : "";
}

Verdict chargedVerdict(const MachineOptions& options, const ClaimedRow& row, const FrameResult& result, WallTime now,
                       Random& random) {
  if (row.retryCount >= options.retry.maxRetries) {
    return {.transition = Transition::fail, .reason = "retry-budget", .delay = {}};
  }
  if (horizonPassed(options.retry, row, now)) {
    return {.transition = Transition::fail, .reason = "horizon", .delay = {}};
  }
  const auto wish = boundedWait(result.retryAfter.value_or(std::chrono::milliseconds(0)));
  return {.transition = Transition::retry,
          .reason = {},
          .delay = std::max(retryDelay(options.retry, row.retryCount + 1, random), wish)};
}

Verdict termVerdict(const FrameResult& result) {
  return {.transition = Transition::fail, .reason = result.code.empty() ? "rejected" : result.code, .delay = {}};
}

Settlement settlementOf(SessionKey session, const ClaimedRow& row, Verdict verdict, WallTime now) {
  Settlement settlement;
  settlement.key = row.key;
  settlement.session = session;
  settlement.attempt = row.attempt;
  settlement.sequence = row.sequence;
  settlement.from = MessageState::sending;
  settlement.transition = verdict.transition;
  settlement.reason = std::move(verdict.reason);
  settlement.retryCount = row.retryCount;
  if (verdict.transition == Transition::retry) {
    settlement.dueAt = now + verdict.delay;
    ++settlement.retryCount;
  } else if (verdict.transition == Transition::defer) {
    settlement.dueAt = now + verdict.delay;
  }
  return settlement;
}

}  // namespace ackbox::delivery
