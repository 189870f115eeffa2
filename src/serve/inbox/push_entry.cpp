#include "serve/inbox/push_entry.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::serve {
namespace {

using std::chrono::milliseconds;

// A few bad frames do not mean that the application refuses everything.
constexpr std::size_t kRefusalsUntilAway = 4;
constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLongestPause{30'000};
constexpr std::size_t kRememberedMax = 4'096;
// A refused frame is pushed again well within this time, unless it has ended otherwise.
constexpr std::chrono::minutes kWaitForgotten{2};

milliseconds growing(unsigned times, milliseconds longest) {
  return std::min(kFirstPause * (1U << std::min(times, 10U)), longest);
}

}  // namespace

struct PushEntry::Probing {
  milliseconds longest;
  std::size_t width;
};

constexpr PushEntry::Probing PushEntry::kUnreachedProbing{kLongestPause, 1};
// An application that answers may take the next frame, which may come from another sender.
constexpr PushEntry::Probing PushEntry::kRefusedProbing{milliseconds(5'000), kRefusalsUntilAway};

PushEntry::Decision PushEntry::answered(const Name& frame, PushVerdict verdict, SteadyTime now) {
  if (verdict.result) {
    return ended(frame, std::move(*verdict.result), verdict.kind == PushVerdict::Kind::judged, now);
  }
  return verdict.kind == PushVerdict::Kind::refused ? refused(frame, verdict.cause, now)
                                                    : unreached(frame, verdict.cause, now);
}

PushEntry::Decision PushEntry::refused(const Name& frame, const std::string& cause, SteadyTime now) {
  Refused& known = remember(frame);
  const bool wasBefore = known.times > 0;
  if (wasBefore && taken_ > known.takenBefore) {
    known.takenBefore = taken_;
    return ended(frame, HandlerResult::notNow("the application " + cause), false, now);
  }
  known.takenBefore = taken_;
  Decision decision;
  decision.pause = growing(++known.times, kLongestPause);
  noteWait(known, cause, now, decision);
  if (inRow_.size() < kRefusalsUntilAway) {
    inRow_.insert(frame);
  }
  if (inRow_.size() == kRefusalsUntilAway) {
    goAway(kRefusedProbing, now);
  }
  return decision;
}

PushEntry::Decision PushEntry::unreached(const Name& frame, const std::string& cause, SteadyTime now) {
  Decision decision;
  noteWait(remember(frame), cause, now, decision);
  goAway(kUnreachedProbing, now);
  return decision;
}

PushEntry::Decision PushEntry::notAsked(const Name& frame, const std::string& cause, milliseconds pause,
                                        SteadyTime now) {
  Decision decision;
  noteWait(remember(frame), cause, now, decision);
  probeAt_ = now + pause;
  return decision;
}

PushEntry::Decision PushEntry::ended(const Name& frame, HandlerResult result, bool isJudged, SteadyTime now) {
  Decision decision;
  if (const auto found = refused_.find(frame); found != refused_.end()) {
    waiting_ -= std::exchange(found->second.waits, false) ? 1U : 0U;
    if (isJudged) {
      std::erase(order_, frame);
      refused_.erase(found);
    }
  }
  if (isJudged) {
    ++taken_;
    inRow_.clear();
    probes_ = 0;
    probeAt_.reset();
    if (now - refusedAt_ >= kWaitForgotten) {
      forgetWaits();
    }
    // The application is not back while frames that it refused still wait: it may not be the configured one.
    decision.isBack = awaySince_.has_value() && waiting_ == 0;
  } else if (probeAt_) {
    goAway(kRefusedProbing, now);
  }
  decision.result = std::move(result);
  return decision;
}

PushEntry::Refused& PushEntry::remember(const Name& frame) {
  const auto [place, isNew] = refused_.try_emplace(frame);
  if (isNew) {
    order_.push_back(frame);
    if (order_.size() > kRememberedMax) {
      const auto oldest = refused_.find(order_.front());
      waiting_ -= oldest->second.waits ? 1U : 0U;
      refused_.erase(oldest);
      order_.pop_front();
    }
  }
  return refused_.at(frame);
}

void PushEntry::noteWait(Refused& known, const std::string& cause, SteadyTime now, Decision& decision) {
  refusedAt_ = now;
  cause_ = cause;
  known.cause = cause;
  if (!std::exchange(known.waits, true)) {
    ++waiting_;
    ++waited_;
  }
  if (!awaySince_) {
    awaySince_ = now;
    decision.hasGone = true;
  }
}

// Answers to pushes that were under way at the same time count once.
void PushEntry::goAway(const Probing& probing, SteadyTime now) {
  if (!probeAt_ || now >= *probeAt_) {
    probeAt_ = now + growing(probes_++, probing.longest);
    probeWidth_ = probing.width;
  }
}

void PushEntry::forgetWaits() {
  for (auto& [name, known] : refused_) {
    known.waits = false;
  }
  waiting_ = 0;
}

void PushEntry::noteBack() {
  awaySince_.reset();
  waited_ = 0;
}

std::optional<std::size_t> PushEntry::room(SteadyTime now) const {
  if (!probeAt_) {
    return std::nullopt;
  }
  return now >= *probeAt_ ? probeWidth_ : 0;
}

void PushEntry::forEachWait(const std::function<void(const Name& frame, const std::string& cause)>& visit) const {
  for (const auto& [frame, known] : refused_) {
    if (known.waits) {
      visit(frame, known.cause);
    }
  }
}

}  // namespace ackbox::serve
