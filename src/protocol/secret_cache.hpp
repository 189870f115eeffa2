#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/secret.hpp"
#include "base/mutex.hpp"
#include "protocol/own_headers.hpp"
#include "protocol/signature.hpp"

namespace ackbox::protocol {

/// The limit of `secretsGrace`.
inline constexpr std::chrono::milliseconds kSecretsGraceMax = std::chrono::hours(24);

/// What a source gives, as keys (`KeyRing`) or as headers (`OwnHeaders`). It is loaded again after a second, so that a
/// rotation needs no restart and a removed key is refused a second later. A source without secrets removes all of them.
/// If a source cannot be loaded or read, the earlier secrets stay until the grace ends, and are then removed. The grace
/// counts from the last successful read, so that an operator knows its end even if no request comes.
///
/// Thread-safety: `current` may be called from any thread.
template <typename Secrets>
class SecretCache {
public:
  /// Called when secrets are lost, or will be: once when a source cannot be read any more, once when its secrets have
  /// ended, and when a readable source has lost all that serve a purpose. Its exceptions are dropped.
  using OnProblem = std::function<void(std::string_view what)>;

  /// Loads the secrets at once.
  /// Throws `Error` with `invalidOption` as `SecretSource::load` and `Secrets` do, and any exception of a callback.
  SecretCache(SecretSource source, std::shared_ptr<Clock> clock, std::chrono::milliseconds grace,
              OnProblem onProblem = {});

  [[nodiscard]] std::shared_ptr<const Secrets> current();

private:
  using Shared = std::shared_ptr<const Secrets>;

  /// Returns the text to report, as do the two functions below.
  [[nodiscard]] std::string refresh(SteadyTime now) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] std::string take(Shared fresh) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] std::string outlast(SteadyTime now, const std::string& failure) ACKBOX_REQUIRES(mutex_);

  const SecretSource source_;
  const std::shared_ptr<Clock> clock_;
  const std::chrono::milliseconds grace_;
  const OnProblem onProblem_;

  Mutex mutex_;
  Shared secrets_ ACKBOX_GUARDED_BY(mutex_);
  SteadyTime askedAt_ ACKBOX_GUARDED_BY(mutex_);
  SteadyTime readAt_ ACKBOX_GUARDED_BY(mutex_);
  // The problems reported since the last successful read: the source cannot be read; its secrets have ended.
  bool isFailing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool hasEnded_ ACKBOX_GUARDED_BY(mutex_) = false;
};

using KeyCache = SecretCache<KeyRing>;
using HeaderCache = SecretCache<OwnHeaders>;

extern template class SecretCache<KeyRing>;
extern template class SecretCache<OwnHeaders>;

}  // namespace ackbox::protocol
