#pragma once

#include <string>
#include <string_view>

#include "ackbox/error.hpp"

namespace ackbox::extension {

/// `text` with the names of options and of a frame's fields, such as `maxPending`, as SQL has them: `max_pending`.
[[nodiscard]] std::string sqlNames(std::string_view text);

/// What a program in SQL can do about the error: its cause, and statements as its remedy.
[[nodiscard]] std::string sqlText(const Error& error);

/// SQLite's code for the error.
[[nodiscard]] int sqlCode(const Error& error);

}  // namespace ackbox::extension
