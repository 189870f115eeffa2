#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Numbers of sessions that no longer have a message: it was discarded, superseded, redriven under another number, or
/// acknowledged by a separate result. A peer may have accepted such a message as the last of its session without an
/// answer saying so, and the last accepted message shows whether the peer knows this file or another (proto/README.md,
/// "Memory"). Keeps only numbers above the known ones of the peer, and the highest per session.
///
/// All in a transaction. Thread-safety: that of the connection.
class VacatedNumbers {
public:
  VacatedNumbers(sqlite3* connection, std::string_view prefix);

  enum class Unless : std::uint8_t { never, untried };

  /// Before the message's row is deleted or renumbered. `untried`: keeps none of a message that was never sent.
  void keep(delivery::MessageKey key, Unless unless);

private:
  Statement insert_;
  Statement trim_;
};

/// SQL: a row if the message with the id ?1 is, or was, number ?3 of session ?2.
[[nodiscard]] std::string numberHolder();

}  // namespace ackbox::store::sqlite
