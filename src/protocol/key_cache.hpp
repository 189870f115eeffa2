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

/// The most that `secretsGrace` may be.
inline constexpr std::chrono::milliseconds kSecretsGraceMax = std::chrono::hours(24);

/// The keys that a source gives, asked for again when a second has passed, so that a rotation needs no restart and a
/// removed key is refused a second later. A source without keys removes all of them. What cannot be
/// loaded or read leaves them as they were, but not for longer than the grace: counted from when they were last read,
/// so that an operator who deletes them knows the end, also where nothing came in between.
///
/// Thread-safety: `current` may be called from any thread.
class KeyCache {
public:
  /// Called when keys are lost, or will be: once when a source cannot be read any more, once when its keys have ended,
  /// and when one that can be read has lost all keys that verify, or all that sign. What it throws is dropped.
  using OnProblem = std::function<void(std::string_view what)>;

  /// Loads at once.
  /// Throws `Error` with `invalidOption` as `SecretSource::load` and `KeyRing` do, and what a callback throws.
  KeyCache(SecretSource source, std::shared_ptr<Clock> clock, std::chrono::milliseconds grace,
           OnProblem onProblem = {});

  [[nodiscard]] std::shared_ptr<const KeyRing> current();

private:
  using Ring = std::shared_ptr<const KeyRing>;

  /// Returns what is to be reported, as the two below.
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
  // What was reported since the last read: the source cannot be read; its keys have ended.
  bool isFailing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool hasEnded_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::protocol
