#include "protocol/key_cache.hpp"

#include <exception>
#include <utility>

namespace ackbox::protocol {
namespace {

constexpr std::chrono::seconds kRefresh{1};

}  // namespace

KeyCache::KeyCache(SecretSource source, std::shared_ptr<Clock> clock, std::chrono::milliseconds grace,
                   OnProblem onProblem)
    : source_(std::move(source)),
      clock_(std::move(clock)),
      grace_(grace),
      onProblem_(std::move(onProblem)),
      ring_(std::make_shared<const KeyRing>(source_.load())),
      askedAt_(clock_->steadyNow()),
      readAt_(askedAt_) {}

std::shared_ptr<const KeyRing> KeyCache::current() {
  Ring ring;
  std::string what;
  {
    const MutexLock lock(mutex_);
    const SteadyTime now = clock_->steadyNow();
    // The source is loaded once more when the grace ends.
    const bool isOver = isFailing_ && !hasEnded_ && now - readAt_ >= grace_;
    if (now - askedAt_ >= kRefresh || isOver) {
      askedAt_ = now;
      what = refresh(now);
    }
    ring = ring_;
  }
  if (onProblem_ && !what.empty()) {
    try {
      onProblem_(what);
    } catch (...) {
      // Documented: an exception of the callback does no harm.
    }
  }
  return ring;
}

// Returns the text to call `onProblem` with; empty: there is nothing to report.
std::string KeyCache::refresh(SteadyTime now) {
  std::string failure = "an exception of an unknown kind";
  try {
    auto fresh = std::make_shared<const KeyRing>(source_.load());
    readAt_ = now;
    isFailing_ = false;
    hasEnded_ = false;
    return take(std::move(fresh));
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
  }
  return outlast(now, failure);
}

std::string KeyCache::take(Ring fresh) {
  const Ring old = std::exchange(ring_, std::move(fresh));
  if (ring_->verifyingKeys() == 0 && old->verifyingKeys() > 0) {
    return "the secrets that could verify are gone: nothing of this peer is believed until there is one, whsec_ or "
           "whpk_";
  }
  if (!ring_->canSign() && old->canSign()) {
    return "the secrets that could sign are gone: nothing to this peer is signed until there is one, whsec_ or whsk_";
  }
  return {};
}

std::string KeyCache::outlast(SteadyTime now, const std::string& failure) {
  if (now - readAt_ >= grace_) {
    if (std::exchange(hasEnded_, true)) {
      return {};
    }
    isFailing_ = true;
    ring_ = std::make_shared<const KeyRing>();
    return failure + "; the earlier secrets have expired: this peer cannot be verified until they can be read";
  }
  if (std::exchange(isFailing_, true)) {
    return {};
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(grace_ - (now - readAt_));
  return failure + "; the earlier secrets stay valid for " + std::to_string(left.count()) + " s";
}

}  // namespace ackbox::protocol
