#include "store/postgres/outbound/vacated_numbers.hpp"

#include "store/decisions/store_limits.hpp"

namespace ackbox::store::postgres {

void VacatedNumbers::keep(delivery::MessageKey key, Unless unless) {
  const std::size_t kept =
      context_.connection
          .run(
              "INSERT INTO #vacated_numbers(session_id,sequence,message_id) SELECT o.session_id,o.sequence,"
              "o.message_id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.id=$1 AND "
              "o.sequence>m.confirmed_sequence AND (o.attempt>0 OR $2) ON CONFLICT(session_id,sequence) DO UPDATE SET "
              "message_id=excluded.message_id",
              key, unless == Unless::never)
          .changed();
  if (kept != 0) {
    context_.connection.run(
        "DELETE FROM #vacated_numbers AS v USING #outbox AS o, #session_states AS m WHERE o.id=$1 AND "
        "v.session_id=o.session_id AND m.session_id=o.session_id AND (v.sequence<=m.confirmed_sequence OR "
        "v.sequence<=(SELECT n.sequence FROM #vacated_numbers AS n WHERE n.session_id=v.session_id ORDER BY n.sequence "
        "DESC LIMIT 1 OFFSET $2))",
        key, kVacatedNumbersMax);
  }
}

}  // namespace ackbox::store::postgres
