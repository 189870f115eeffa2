#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/message.hpp"
#include "delivery/transition.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/decisions/error_text.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

// The log of a message's failed attempts: a JSON array in its row, the newest first, each an object with the keys
// `first_at_ms`, `at_ms`, `count`, `took_ms` (null: no request), `outcome`, `status` (null: no answer) and `error`.
// Only the settle of a failed attempt writes it. Its existing content is untrusted input: the file may come from
// anyone.

/// SQL, for an UPDATE of #outbox: the row's log with one more attempt. An attempt that failed like the last one is
/// counted in that entry. `addAttempt` binds ?9 to ?13.
[[nodiscard]] std::string attemptLogged();
/// Binds the attempt that `settlement` ends at `now`; a deferred attempt is not logged.
void addAttempt(Query& query, const delivery::Settlement& settlement, delivery::Next next, WallTime now);

/// A query of the log of the message with the id ?1.
[[nodiscard]] std::string attemptSelect();
[[nodiscard]] std::vector<AttemptInfo> attemptsOf(Statement& select, std::string_view messageId);

}  // namespace ackbox::store::sqlite
