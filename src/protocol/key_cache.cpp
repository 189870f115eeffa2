#include "protocol/key_cache.hpp"

#include <utility>

namespace ackbox::protocol {
namespace {

constexpr std::chrono::seconds kRefresh{1};

}  // namespace

KeyCache::KeyCache(SecretSource source, std::shared_ptr<Clock> clock)
    : source_(std::move(source)),
      clock_(std::move(clock)),
      ring_(std::make_shared<const KeyRing>(source_.load())),
      loadedAt_(clock_->steadyNow()) {}

std::shared_ptr<const KeyRing> KeyCache::current() {
  const std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_->steadyNow();
  if (now - loadedAt_ >= kRefresh) {
    loadedAt_ = now;
    try {
      auto fresh = std::make_shared<const KeyRing>(source_.load());
      // A file that is empty while it is being written takes no ability away.
      if (fresh->canSign() >= ring_->canSign() && (fresh->verifyingKeys() > 0) >= (ring_->verifyingKeys() > 0)) {
        ring_ = std::move(fresh);
      }
    } catch (...) {
      // Documented: the keys stay as they were.
    }
  }
  return ring_;
}

}  // namespace ackbox::protocol
