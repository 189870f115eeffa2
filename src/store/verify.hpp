#pragma once

#include <filesystem>

#include "ackbox/diagnosis.hpp"
#include "ackbox/options.hpp"

namespace ackbox::store {

/// Checks every invariant of the file in one snapshot, on a connection of its own. The file must have been opened by a
/// `Store` before. Throws `Error`.
[[nodiscard]] VerifyReport verify(const std::filesystem::path& file, const OutboxOptions& options);

}  // namespace ackbox::store
