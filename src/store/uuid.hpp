#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"

namespace ackbox::store {

/// Makes UUIDv7 text that sorts in the order of the calls, whatever the clock does, and says `key` in its last ten
/// digits as a decimal number: `0193a5c2-7e1f-7abc-9f3a-7c0000012345` is of row 12,345. Of 33 bits, the rest is random.
/// Source: RFC 9562, section 5.7 and method 1 of section 6.2 (a counter in `rand_a`, which begins anywhere in its lower
/// half each millisecond).
///
/// Thread-safety: none.
class UuidGenerator {
public:
  static constexpr std::size_t kKeyDigits = 10;

  /// A key that has more digits than ten is not told: the id is then random where the key would stand.
  [[nodiscard]] std::string next(WallTime now, Random& random, std::int64_t key);

private:
  std::uint64_t milliseconds_ = 0;
  std::uint64_t counter_ = 0;
};

/// A random UUIDv4: an identity that should tell nothing of when it was made.
[[nodiscard]] std::string randomUuid(Random& random);

}  // namespace ackbox::store
