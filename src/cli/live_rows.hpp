#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "ackbox/outbox_reader.hpp"

namespace ackbox::cli {

/// The most rows read to see whether a file is damaged, from the oldest on. A larger file is read in part.
inline constexpr std::size_t kRowsLooked = 50'000;

/// What to do about a damaged outbox.
[[nodiscard]] std::string damageAdvice(const std::filesystem::path& place);

/// The reason why the file's messages cannot be read, for people; empty if those examined can be read. Throws `Error`
/// for anything other than damage.
[[nodiscard]] std::string rowDamage(const OutboxReader& reader);

}  // namespace ackbox::cli
