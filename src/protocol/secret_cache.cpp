#include "protocol/secret_cache.hpp"

#include <exception>
#include <utility>

namespace ackbox::protocol {
namespace {

constexpr std::chrono::seconds kRefresh{1};

/// What `fresh` cannot do that `old` could; empty: nothing.
std::string lossBetween(const KeyRing& old, const KeyRing& fresh) {
  if (fresh.verifyingKeys() == 0 && old.verifyingKeys() > 0) {
    return "the secrets that could verify are gone: nothing of this peer is believed until there is one, whsec_ or "
           "whpk_";
  }
  if (!fresh.canSign() && old.canSign()) {
    return "the secrets that could sign are gone: nothing to this peer is signed until there is one, whsec_ or whsk_";
  }
  return {};
}

std::string lossBetween(const OwnHeaders& old, const OwnHeaders& fresh) {
  return fresh.isEmpty() && !old.isEmpty() ? "the headers are gone: nothing is sent until there is one" : std::string();
}

std::string_view endOf(const KeyRing& /*keys*/) {
  return "; the earlier secrets have expired: this peer cannot be verified until they can be read";
}

std::string_view endOf(const OwnHeaders& /*headers*/) {
  return "; the earlier headers have expired: nothing is sent until they can be read";
}

}  // namespace

template <typename Secrets>
SecretCache<Secrets>::SecretCache(SecretSource source, std::shared_ptr<Clock> clock, std::chrono::milliseconds grace,
                                  OnProblem onProblem)
    : source_(std::move(source)),
      clock_(std::move(clock)),
      grace_(grace),
      onProblem_(std::move(onProblem)),
      secrets_(std::make_shared<const Secrets>(source_.load())),
      askedAt_(clock_->steadyNow()),
      readAt_(askedAt_) {}

template <typename Secrets>
std::shared_ptr<const Secrets> SecretCache<Secrets>::current() {
  Shared secrets;
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
    secrets = secrets_;
  }
  if (onProblem_ && !what.empty()) {
    try {
      onProblem_(what);
    } catch (...) {
      // Documented: an exception of the callback does no harm.
    }
  }
  return secrets;
}

// Returns the text to call `onProblem` with; empty: there is nothing to report.
template <typename Secrets>
std::string SecretCache<Secrets>::refresh(SteadyTime now) {
  std::string failure = "an exception of an unknown kind";
  try {
    auto fresh = std::make_shared<const Secrets>(source_.load());
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

template <typename Secrets>
std::string SecretCache<Secrets>::take(Shared fresh) {
  const Shared old = std::exchange(secrets_, std::move(fresh));
  return lossBetween(*old, *secrets_);
}

template <typename Secrets>
std::string SecretCache<Secrets>::outlast(SteadyTime now, const std::string& failure) {
  if (now - readAt_ >= grace_) {
    if (std::exchange(hasEnded_, true)) {
      return {};
    }
    isFailing_ = true;
    secrets_ = std::make_shared<const Secrets>();
    return failure + std::string(endOf(*secrets_));
  }
  if (std::exchange(isFailing_, true)) {
    return {};
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(grace_ - (now - readAt_));
  return failure + "; the earlier secrets stay valid for " + std::to_string(left.count()) + " s";
}

template class SecretCache<KeyRing>;
template class SecretCache<OwnHeaders>;

}  // namespace ackbox::protocol
