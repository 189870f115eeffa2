#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ackbox::testing {

/// `count` times ACKBOX_TEST_SCALE, which turns a short harness into a campaign; at least 1.
inline std::uint64_t scaled(std::uint64_t count) {
  const char* const scale = std::getenv("ACKBOX_TEST_SCALE");
  const double factor = scale == nullptr ? 1.0 : std::atof(scale);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(count) * factor));
}

/// Whether it is the long form of the tests, or a campaign, that runs.
inline bool isLongForm() {
  return scaled(2) > 2;
}

/// ACKBOX_TEST_SEED, or `otherwise`.
inline std::uint64_t chosenSeed(std::uint64_t otherwise) {
  const char* const seed = std::getenv("ACKBOX_TEST_SEED");
  return seed == nullptr ? otherwise : std::strtoull(seed, nullptr, 10);
}

}  // namespace ackbox::testing
