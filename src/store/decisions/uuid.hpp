#pragma once

#include <cstdint>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"

namespace ackbox::store {

/// The 128 bits of a UUID.
struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const Uuid&) const = default;
};

/// As 36 characters, the digits beyond 9 in lower case.
[[nodiscard]] std::string toString(const Uuid& uuid);

/// Makes UUIDv7s with texts that sort in the order of the calls, regardless of the clock, and with `key` in the last
/// ten digits as a decimal number: `0193a5c2-7e1f-7abc-9f3a-7c0000012345` is of row 12,345. The remaining 33 bits are
/// random. Source: RFC 9562, section 5.7 and method 1 of section 6.2 (a counter in `rand_a`, which begins anywhere in
/// its lower half each millisecond).
///
/// Thread-safety: none.
class UuidGenerator {
public:
  static constexpr unsigned kKeyDigits = 10;
  static constexpr unsigned kKeyBits = 4 * kKeyDigits;
  static constexpr std::int64_t kKeyMax = 9'999'999'999;
  static constexpr unsigned kCounterBits = 12;
  /// Between the variant and the key's digits.
  static constexpr unsigned kRandomBits = 22;

  /// A key above `kKeyMax` is left out: the id is then random where the key would stand.
  [[nodiscard]] Uuid next(WallTime now, Random& random, std::int64_t key);

  /// The id with these parts, each within its maximum.
  [[nodiscard]] static Uuid compose(std::uint64_t milliseconds, std::uint64_t counter, std::uint64_t random,
                                    std::int64_t key) noexcept;

private:
  std::uint64_t milliseconds_ = 0;
  std::uint64_t counter_ = 0;
};

/// A random UUIDv4: an identity that should not reveal when it was made.
[[nodiscard]] std::string randomUuid(Random& random);

}  // namespace ackbox::store
