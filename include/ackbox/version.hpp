#pragma once

#include <string_view>

namespace ackbox {

/// This release, `major.minor.patch`; before 1.0 a new minor version may break the API.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace ackbox
