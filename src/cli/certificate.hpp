#pragma once

#include <filesystem>

#include "ackbox/clock.hpp"

namespace ackbox::cli {

/// When the first of the certificates in a PEM file ends: of a chain, the one that ends first. Throws `Error` if there
/// is none that can be read.
[[nodiscard]] WallTime certificateEnds(const std::filesystem::path& path);

}  // namespace ackbox::cli
