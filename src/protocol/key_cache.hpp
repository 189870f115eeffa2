#pragma once

#include <memory>
#include <mutex>

#include "ackbox/clock.hpp"
#include "ackbox/secret.hpp"
#include "protocol/signature.hpp"

namespace ackbox::protocol {

/// The keys that a source gives, asked for again when a second has passed, so that a rotation needs no restart. What
/// cannot be loaded or read later leaves the keys as they were.
///
/// Thread-safety: `current` may be called from any thread.
class KeyCache {
public:
  /// Loads at once.
  /// Throws `Error` with `invalidOption` as `SecretSource::load` and `KeyRing` do, and what a callback throws.
  KeyCache(SecretSource source, std::shared_ptr<Clock> clock);

  [[nodiscard]] std::shared_ptr<const KeyRing> current();

private:
  const SecretSource source_;
  const std::shared_ptr<Clock> clock_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const KeyRing> ring_;
  SteadyTime loadedAt_;
};

}  // namespace ackbox::protocol
