#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ackbox::simulation {

/// The types of frames for applications, if their receiver has any.
inline constexpr std::string_view kPulled = "sim.pulled.*";
inline constexpr std::string_view kPushed = "sim.pushed";
inline constexpr std::array<std::string_view, 3> kApplicationTypes{"sim.pulled.a", "sim.pulled.b", kPushed};

/// The type of the message with this name, so that repetitions agree. Each type occurs in each session.
[[nodiscard]] inline std::string typeOf(std::string_view name, bool withApplications) {
  const auto digit = static_cast<std::size_t>(name.back() - '0');
  if (withApplications && digit < kApplicationTypes.size()) {
    return std::string(kApplicationTypes[digit]);
  }
  return name.back() % 2 == 0 ? "sim.said" : "sim.slow";
}

}  // namespace ackbox::simulation
