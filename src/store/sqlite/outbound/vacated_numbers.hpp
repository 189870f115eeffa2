#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Numbers of sessions that their messages have left: thrown away, superseded, given another number by a redrive, or
/// acknowledged by a result of its own. A peer may have accepted such a message as the last of its session although no
/// answer said so, and what it accepted last shows whether it knows this file or another (proto/README.md, "Memory").
/// Only numbers above what the peer is known to have are kept, and of a session the highest.
///
/// All in a transaction. Thread-safety: that of the connection.
class VacatedNumbers {
public:
  VacatedNumbers(sqlite3* connection, std::string_view prefix);

  enum class Unless : std::uint8_t { never, untried };

  /// Before the message's row goes, or gets another number. `untried`: nothing is kept of one that was never sent.
  void keep(delivery::MessageKey key, Unless unless);

private:
  Statement insert_;
  Statement trim_;
};

/// SQL: a row if the message with the id ?1 is, or was, number ?3 of session ?2.
[[nodiscard]] std::string numberHolder();

}  // namespace ackbox::store::sqlite
