#include "store/sqlite/schema/new_store.hpp"

#include <string>

#include "sqlite/statement.hpp"
#include "store/decisions/uuid.hpp"
#include "store/sqlite/schema/recount.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// A row's checksum contains its sequence as a separate summand.
constexpr const char* kRenumber =
    "UPDATE #outbox SET sequence=r.number, checksum=(checksum+r.number-sequence)&2147483647 FROM (SELECT id,"
    "row_number() OVER (PARTITION BY session_id ORDER BY id) AS number FROM #outbox WHERE sequence<>0) AS r WHERE "
    "#outbox.id=r.id AND #outbox.sequence<>r.number";

// The order matters: the remaining rows get the numbers.
constexpr const char* kSteps[] = {
    // The peers have these messages. An ACK event names the old store's number, so it would settle nothing here.
    "DELETE FROM #outbox WHERE state IN (2,3)",
    // From here on the sessions' states include their tails.
    "UPDATE #counters SET tails_key=last_key",
    "DELETE FROM #claims",
    "DELETE FROM #vacated_numbers",
    "UPDATE #idempotency_keys SET sequence=0 WHERE sequence<>0",
    "UPDATE #publications SET sequence=0 WHERE sequence<>0",
    kRenumber,
    "UPDATE #session_states SET last_sequence=0, previous_sequence=0, confirmed_sequence=0, due_at_ms=0, "
    "due_is_firm=0, "
    "head_id=0",
    "UPDATE #session_states SET last_sequence=r.last, head_id=r.head FROM (SELECT session_id,max(sequence) AS last,"
    "coalesce(min(id) FILTER (WHERE state=0),0) AS head FROM #outbox GROUP BY session_id) AS r WHERE "
    "r.session_id=#session_states.session_id",
    // The peers were held because of the old identity, or for a cause that the first request will show again.
    "UPDATE #peers SET down=0, hold=0, failures=0, down_since_ms=0, next_probe_at_ms=0, last_error='' WHERE down<>0 OR "
    "hold<>0 OR failures<>0",
    "UPDATE #meta SET recalls=recalls+1, orders=orders+1",
};

class NewStore {
public:
  NewStore(sqlite3* connection, std::string_view prefix) : connection_(connection), prefix_(prefix) {}

  [[nodiscard]] std::uint64_t count(int state) const {
    Statement statement(connection_, "SELECT count(*) FROM #outbox WHERE state=?1", prefix_);
    Query query(statement, state);
    query.next();
    return query.as<std::uint64_t>(0);
  }

  [[nodiscard]] std::string origin() const {
    Statement statement(connection_, "SELECT origin FROM #meta", prefix_);
    Query query(statement);
    return query.next() ? query.text(0) : std::string();
  }

  void setOrigin(const std::string& origin) const {
    Statement statement(connection_, "UPDATE #meta SET origin=?1", prefix_);
    Query(statement, origin).run();
  }

  void renumber() const {
    for (const char* step : kSteps) {
      execute(connection_, expand(step, prefix_));
    }
    recountGauges(connection_, prefix_);
  }

private:
  sqlite3* const connection_;
  const std::string_view prefix_;
};

}  // namespace

NewStoreReport makeNewStore(sqlite3* connection, std::string_view prefix, Random& random) {
  constexpr int kPending = 0;
  constexpr int kSent = 2;
  constexpr int kAcked = 3;
  constexpr int kFailed = 4;
  const NewStore store(connection, prefix);
  NewStoreReport report;
  report.originBefore = store.origin();
  report.origin = randomUuid(random);
  report.pending = store.count(kPending);
  report.failed = store.count(kFailed);
  report.sentLeftOut = store.count(kSent);
  report.ackedLeftOut = store.count(kAcked);
  store.renumber();
  store.setOrigin(report.origin);
  return report;
}

}  // namespace ackbox::store::sqlite
