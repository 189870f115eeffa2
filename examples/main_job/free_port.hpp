#pragma once

#include <cstdint>
#include <random>

namespace main_job {

/// A loopback port that nobody listens on, below the range from which the kernel draws ports for connections: there, a
/// killed agent's port could be taken by the very connection that its peer attempts.
/// Throws `std::runtime_error` when none is found.
[[nodiscard]] std::uint16_t freePort(std::mt19937_64& random);

}  // namespace main_job
