#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ackbox::simulation {

/// Types of the frames that applications work on, where their receiver has any.
inline constexpr std::string_view kPulled = "sim.pulled.*";
inline constexpr std::string_view kPushed = "sim.pushed";
inline constexpr std::array<std::string_view, 3> kApplicationTypes{"sim.pulled.a", "sim.pulled.b", kPushed};

/// The type of what is said under this name, so that what is said again is the same; of each type in each session.
[[nodiscard]] inline std::string typeOf(std::string_view name, bool withApplications) {
  const auto digit = static_cast<std::size_t>(name.back() - '0');
  if (withApplications && digit < kApplicationTypes.size()) {
    return std::string(kApplicationTypes[digit]);
  }
  return name.back() % 2 == 0 ? "sim.said" : "sim.slow";
}

}  // namespace ackbox::simulation
