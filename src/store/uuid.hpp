#pragma once

#include <cstdint>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"

namespace ackbox::store {

/// Makes UUIDv7 text that sorts in the order of the calls, whatever the clock does.
/// Source: RFC 9562, section 5.7 and method 1 of section 6.2 (a counter in `rand_a`).
///
/// Thread-safety: none.
class UuidGenerator {
public:
  [[nodiscard]] std::string next(WallTime now, Random& random);

private:
  std::uint64_t milliseconds_ = 0;
  std::uint64_t counter_ = 0;
};

/// A random UUIDv4: an identity that should tell nothing of when it was made.
[[nodiscard]] std::string randomUuid(Random& random);

}  // namespace ackbox::store
