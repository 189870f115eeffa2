#include "store/sqlite/outbound/attempt_log.hpp"

#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {

// ?9 error, ?10 outcome, ?11 now, ?12 duration, ?13 status.
std::string attemptLogged() {
  return "CASE WHEN ?9 IS NULL THEN attempt_log "
         // Nothing is taken out of text that is no JSON, which would be an error.
         "WHEN json_valid(attempt_log) AND json_extract(attempt_log,'$[0].error')=?9 "
         "AND json_extract(attempt_log,'$[0].outcome')=?10 AND json_extract(attempt_log,'$[0].status') IS ?13 "
         "THEN json_set(attempt_log,'$[0].count',json_extract(attempt_log,'$[0].count')+1,'$[0].at_ms',?11,"
         "'$[0].took_ms',?12) "
         "ELSE json_remove('['||json_object('first_at_ms',?11,'at_ms',?11,'count',1,'took_ms',?12,'outcome',?10,"
         "'status',?13,'error',?9)||CASE WHEN json_valid(attempt_log) AND json_type(attempt_log)='array' AND "
         "json_array_length(attempt_log)>0 THEN ','||substr(json(attempt_log),2) ELSE ']' END,'$[" +
         std::to_string(kAttemptsMax) + "]') END";
}

void addAttempt(Query& query, const delivery::Settlement& settlement, delivery::Next next, WallTime now) {
  const bool isLogged = next != delivery::Next::sent;
  const auto took = settlement.took ? std::optional(settlement.took->count()) : std::nullopt;
  query.add(NullIfEmpty{isLogged ? truncatedError(settlement.error, kAttemptErrorBytesMax) : std::string_view()},
            delivery::toString(settlement.transition), now, took,
            settlement.status == 0 ? std::nullopt : std::optional(settlement.status));
}

std::string attemptSelect() {
  return std::string(
             "SELECT json_extract(e.value,'$.first_at_ms'),json_extract(e.value,'$.at_ms'),"
             "json_extract(e.value,'$.count'),json_extract(e.value,'$.took_ms'),json_extract(e.value,'$.outcome'),"
             "json_extract(e.value,'$.status'),json_extract(e.value,'$.error') FROM #outbox AS o CROSS JOIN "
             "json_each(iif(json_valid(o.attempt_log),o.attempt_log,'[]')) AS e WHERE e.type='object' AND o.id=")
      .append(keyOfMessage())
      .append(" LIMIT ")
      .append(std::to_string(kAttemptsMax));
}

std::vector<AttemptInfo> attemptsOf(Statement& select, std::string_view messageId) {
  std::vector<AttemptInfo> attempts;
  for (Query query(select, messageId); query.next();) {
    AttemptInfo& attempt = attempts.emplace_back();
    attempt.firstAt = query.instant(0);
    attempt.lastAt = query.instant(1);
    attempt.count = query.as<std::uint64_t>(2);
    if (!query.isNull(3)) {
      attempt.took = std::chrono::milliseconds(query.integer(3));
    }
    attempt.outcome = query.text(4);
    attempt.status = query.as<int>(5);
    attempt.error = query.text(6);
  }
  return attempts;
}

}  // namespace ackbox::store::sqlite
