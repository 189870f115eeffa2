#pragma once

#include <sqlite3.h>

#include <chrono>

namespace ackbox::sqlite {

/// The processor time that a statement on a file of this size may take: a hundred times what an honest file needs.
[[nodiscard]] std::chrono::milliseconds workOn(std::uintmax_t fileBytes) noexcept;

/// Ends every statement of `connection` that takes more processor time than `most`, with SQLITE_INTERRUPT. An untrusted
/// file may have generated columns, checks and index expressions that take practically forever to compute, and a few
/// bytes are enough for that. Replaces the connection's progress handler and trace. Does nothing when out of memory.
void limitWork(sqlite3* connection, std::chrono::milliseconds most);

}  // namespace ackbox::sqlite
