#include "delivery/verdict.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/limit_code.hpp"
#include "base/options.hpp"
#include "delivery/due.hpp"

namespace ackbox::delivery {
namespace {

// A receiver stays at its limit until its operator acts or marks expire: a retry after minutes is soon enough, and many
// waiting messages must not keep the receiver busy.
constexpr std::chrono::milliseconds kLimitDelay = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLimitDelayMax = std::chrono::minutes(5);
constexpr std::uint32_t kLimitDoublingsMax = 9;

std::chrono::milliseconds withinReason(std::chrono::milliseconds delay) {
  return std::clamp(delay, std::chrono::milliseconds(0), kDurationMax);
}

Verdict givenUp(std::string reason) {
  return {.transition = Transition::fail, .reason = std::move(reason), .delay = {}, .note = {}};
}

// The policy's delay; nothing if its function gives up.
std::optional<std::chrono::milliseconds> delayBy(const RetryPolicy& retry, const ClaimedRow& row,
                                                 const FrameResult& result, WallTime now, Random& random,
                                                 std::string& note) {
  const std::uint32_t failures = row.retryCount + 1;
  if (retry.backoff == Backoff::custom && retry.custom) {
    try {
      const auto delay =
          retry.custom({.retry = failures, .age = now - row.enqueuedAt, .code = result.code, .detail = result.detail});
      return delay ? std::optional(withinReason(*delay)) : std::nullopt;
    } catch (const std::exception& error) {
      note = std::string("the retry function threw: ") + error.what();
    } catch (...) {
      note = "the retry function threw";
    }
  }
  return retryDelay(retry, failures, random);
}

}  // namespace

bool horizonPassed(const RetryPolicy& retry, const ClaimedRow& row, const OpenClock& clock,
                   std::chrono::milliseconds grace, const Now& now) {
  const WallTime start = std::max(row.enqueuedAt, row.notBefore.value_or(row.enqueuedAt));
  return clock.hasPassed(retry.horizon, start, grace, now);
}

std::string whyNotSend(const ClaimedRow& row, bool isWithPeer, bool isPastHorizon, WallTime now) {
  if (row.isDamaged) {
    return "damaged";
  }
  if (!isWithPeer && row.expiresAt && *row.expiresAt <= now) {
    return "expired";
  }
  return isPastHorizon ? "horizon" : "";
}

Verdict chargedVerdict(const RetryPolicy& retry, const ClaimedRow& row, const FrameResult& result, bool isPastHorizon,
                       WallTime now, Random& random) {
  if (row.retryCount >= retry.maxRetries) {
    return givenUp("retry-budget");
  }
  if (isPastHorizon) {
    return givenUp("horizon");
  }
  Verdict verdict;
  const auto delay = delayBy(retry, row, result, now, random, verdict.note);
  if (!delay) {
    return givenUp("retry-policy");
  }
  verdict.transition = Transition::retry;
  verdict.delay = std::max(*delay, boundedWait(result.retryAfter.value_or(std::chrono::milliseconds(0))));
  return verdict;
}

bool isOverLimit(const FrameResult& result) {
  return result.outcome == Outcome::nack && isLimitCode(result.code);
}

Verdict unchargedVerdict(const ClaimedRow& row, const FrameResult& result, bool isPastHorizon, Random& random) {
  if (isPastHorizon) {
    return givenUp("horizon");
  }
  const std::uint32_t doublings = std::min(std::max(row.attempt, 1U) - 1, kLimitDoublingsMax);
  const std::chrono::milliseconds bound = std::min(kLimitDelay * (1U << doublings), kLimitDelayMax);
  const auto jitter = static_cast<std::uint64_t>(bound.count() / 2);
  const std::chrono::milliseconds delay = bound - std::chrono::milliseconds(random.next() % (jitter + 1));
  Verdict verdict;
  verdict.delay = std::max(delay, boundedWait(result.retryAfter.value_or(std::chrono::milliseconds(0))));
  return verdict;
}

std::string errorText(const FrameResult& result) {
  if (result.detail.empty()) {
    return result.code;
  }
  return isOverLimit(result) ? result.code + ": " + result.detail : result.detail;
}

void apply(const FailureDecision& decision, WallTime now, Verdict& verdict) {
  using enum FailureDecision::Action;
  const std::string reason = decision.reason().empty() ? verdict.reason : decision.reason();
  switch (decision.action()) {
    case byPolicy:
      return;
    case retryAt:
      verdict = {.transition = Transition::retry, .reason = {}, .delay = {}, .note = std::move(verdict.note)};
      // Compared before subtracting: the instant may be the end of time.
      verdict.delay = decision.instant() > now + kDurationMax ? kDurationMax : withinReason(decision.instant() - now);
      return;
    case deadLetter:
    case block:
      verdict.transition = Transition::fail;
      verdict.reason = reason.empty() ? "dead-letter-by-policy" : reason;
      verdict.blocks = decision.action() == block;
      return;
    case discard:
      verdict.transition = Transition::fail;
      verdict.reason = "discarded-by-policy";
      verdict.discards = true;
      return;
  }
}

bool isStale(const FrameResult& result) {
  return result.outcome == Outcome::term && result.code == "stale-epoch";
}

Verdict termVerdict(const FrameResult& result) {
  return givenUp(result.code.empty() ? "rejected" : result.code);
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
  settlement.blocks = verdict.blocks;
  settlement.discards = verdict.discards;
  settlement.retryCount = row.retryCount;
  if (verdict.transition == Transition::retry) {
    settlement.dueAt = now + verdict.delay;
    ++settlement.retryCount;
  } else if (verdict.delay.count() > 0) {
    settlement.dueAt = now + verdict.delay;
  }
  return settlement;
}

}  // namespace ackbox::delivery
