#pragma once

#include <cstdint>
#include <memory>

namespace ackbox {

/// The source of randomness: jitter, message ids, the store's identity.
///
/// Thread-safety: `next` may be called from any thread.
class Random {
public:
  virtual ~Random() = default;

  /// 64 uniformly distributed bits.
  [[nodiscard]] virtual std::uint64_t next() = 0;
};

/// The kernel's generator (`getrandom`), buffered. Fit for identifiers and jitter; keys are never made here.
[[nodiscard]] std::shared_ptr<Random> systemRandom();

/// A reproducible generator: the same seed gives the same sequence on every platform.
/// Source: xoshiro256** by D. Blackman and S. Vigna, seeded through splitmix64.
[[nodiscard]] std::shared_ptr<Random> seededRandom(std::uint64_t seed);

}  // namespace ackbox
