#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/secret.hpp"
#include "base/mutex.hpp"
#include "protocol/signature.hpp"

namespace ackbox::protocol {

/// The limit of `secretsGrace`.
inline constexpr std::chrono::milliseconds kSecretsGraceMax = std::chrono::hours(24);

/// The keys that a source gives. They are loaded again after a second, so that a rotation needs no restart and a
/// removed key is refused a second later. A source without keys removes all of them. If a source cannot be loaded or
/// read, the keys stay, but no longer than the grace, counted from the last successful read: so that the end is known
/// to an operator, even if no request comes in between.
///
/// Thread-safety: `current` may be called from any thread.
class KeyCache {
public:
  /// Called when keys are lost, or will be: once when a source cannot be read any more, once when its keys have ended,
  /// and when a readable source has lost all keys that verify, or all that sign. Its exceptions are dropped.
  using OnProblem = std::function<void(std::string_view what)>;

  /// Loads the keys at once.
  /// Throws `Error` with `invalidOption` as `SecretSource::load` and `KeyRing` do, and any exception of a callback.
  KeyCache(SecretSource source, std::shared_ptr<Clock> clock, std::chrono::milliseconds grace,
           OnProblem onProblem = {});

  [[nodiscard]] std::shared_ptr<const KeyRing> current();

private:
  using Ring = std::shared_ptr<const KeyRing>;

  /// Returns the text to report, as do the two functions below.
  [[nodiscard]] std::string refresh(SteadyTime now) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] std::string take(Ring fresh) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] std::string outlast(SteadyTime now, const std::string& failure) ACKBOX_REQUIRES(mutex_);

  const SecretSource source_;
  const std::shared_ptr<Clock> clock_;
  const std::chrono::milliseconds grace_;
  const OnProblem onProblem_;

  Mutex mutex_;
  Ring ring_ ACKBOX_GUARDED_BY(mutex_);
  SteadyTime askedAt_ ACKBOX_GUARDED_BY(mutex_);
  SteadyTime readAt_ ACKBOX_GUARDED_BY(mutex_);
  // The problems reported since the last successful read: the source cannot be read; its keys have ended.
  bool isFailing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool hasEnded_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::protocol
