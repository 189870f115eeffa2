#include "store/sqlite/outbound/vacated_numbers.hpp"

#include <string>

#include "store/decisions/store_limits.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {

VacatedNumbers::VacatedNumbers(sqlite3* connection, std::string_view prefix)
    : insert_(
          connection,
          std::string("REPLACE INTO #vacated_numbers(session_id,sequence,message_id) SELECT o.session_id,o.sequence,")
              .append(kMessageId)
              .append(" FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.id=?1 AND "
                      "o.sequence>m.confirmed_sequence AND (o.attempt>0 OR ?2=0)"),
          prefix),
      trim_(connection,
            "DELETE FROM #vacated_numbers WHERE session_id=(SELECT session_id FROM #outbox WHERE id=?1) AND "
            "(sequence<=(SELECT confirmed_sequence FROM #session_states AS m WHERE "
            "m.session_id=#vacated_numbers.session_id) OR sequence<=(SELECT sequence FROM #vacated_numbers AS v WHERE "
            "v.session_id=#vacated_numbers.session_id ORDER BY sequence DESC LIMIT 1 OFFSET ?2))",
            prefix) {}

void VacatedNumbers::keep(delivery::MessageKey key, Unless unless) {
  if (Query(insert_, key, unless == Unless::untried ? 1 : 0).run() != 0) {
    Query(trim_, key, kVacatedNumbersMax).run();
  }
}

std::string numberHolder() {
  return std::string("SELECT 1 FROM #outbox WHERE id=")
      .append(keyOfMessage())
      .append(
          " AND session_id=?2 AND sequence=?3 UNION ALL SELECT 1 FROM #vacated_numbers WHERE session_id=?2 AND "
          "sequence=?3 AND message_id=?1");
}

}  // namespace ackbox::store::sqlite
