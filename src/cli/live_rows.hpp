#pragma once

#include <cstddef>
#include <string>

#include "ackbox/outbox_reader.hpp"

namespace ackbox::cli {

/// Rows that are read to see whether a file is damaged: those that go next. A file with more is read in part.
inline constexpr std::size_t kRowsLooked = 50'000;

/// What to do about a file that is damaged.
[[nodiscard]] std::string damageAdvice(const std::string& file);

/// Why the messages in the file cannot be read, for people; empty: they can, as far as was looked. Throws `Error` for
/// anything else than damage.
[[nodiscard]] std::string rowDamage(const OutboxReader& reader);

}  // namespace ackbox::cli
