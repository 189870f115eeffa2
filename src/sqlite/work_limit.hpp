#pragma once

#include <sqlite3.h>

#include <chrono>

namespace ackbox::sqlite {

/// The processor time that one statement on a file of so many bytes may take: a hundred times what an honest one does.
[[nodiscard]] std::chrono::milliseconds workOn(std::uintmax_t fileBytes) noexcept;

/// Ends every statement of `connection` that takes more processor time than `most`, with SQLITE_INTERRUPT. A file from
/// a stranger may have generated columns, checks and expressions in indices whose values take for ever to compute, and
/// a few bytes are enough for that. Takes the place of the connection's progress handler and trace. Does nothing where
/// there is no memory.
void limitWork(sqlite3* connection, std::chrono::milliseconds most);

}  // namespace ackbox::sqlite
