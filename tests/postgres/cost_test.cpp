// Goal: P9: what a call reads does not grow with what was there before, and a transaction of an application changes no
// row but its own. Method: the server's own counts of the rows that were read, before and after a call; another client
// that waits for nobody.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ackbox/postgres.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/message_pages.hpp"
#include "store/postgres/read/reader.hpp"
#include "support/comes_to.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace pg_cost_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

struct Costs {
  /// Messages that a client's statements enqueue, one transaction each, or all in one.
  void enqueue(int count, const std::string& arguments = {}) const {
    database.run("SELECT count(*) FROM generate_series(1," + std::to_string(count) +
                 ") AS n, LATERAL ackbox.enqueue('default','s','test',n::text" + arguments + ")");
  }
  [[nodiscard]] long rows(const std::string& table) const {
    return std::stol(database.run("SELECT count(*) FROM ackbox." + table));
  }

  PostgresDatabase database;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxOptions options = [this] {
    OutboxOptions made;
    made.clock = clock;
    return made;
  }();
  PostgresStore store{database.location(), options};
};

/// The table's number, in SQL; and that of the parts of its large values, of 2 KB each.
std::string idOf(const std::string& table) {
  return "'ackbox." + table + "'::regclass";
}
std::string partsOf(const std::string& table) {
  return "(SELECT reltoastrelid FROM pg_class WHERE oid=" + idOf(table) + ")";
}

/// How many rows of the table `work` reads on the connection.
template <typename Work>
long readBy(PGconn* connection, const std::string& table, const Work& work) {
  const auto read = [&] {
    return std::stol(answerOf(connection,
                              "SELECT seq_tup_read+coalesce(idx_tup_fetch,0) FROM pg_stat_xact_all_tables WHERE "
                              "relid=" +
                                  table));
  };
  const long before = read();
  work();
  return read() - before;
}

}  // namespace

TEST_CASE("P9: a step reads as many rows for the oldest message behind many retained ones as behind none") {
  Costs costs;
  costs.enqueue(500);
  costs.database.run("UPDATE ackbox.outbox SET state=CASE WHEN sequence%2=0 THEN 3 ELSE 4 END");
  costs.enqueue(1, ",not_before_ms=>0");
  const auto look = [&] { CHECK(costs.store.vitals().oldestAt.has_value()); };
  costs.store.begin(false);
  CHECK(readBy(costs.store.handlersConnection(), idOf("outbox"), look) <= 2);
  costs.store.commit();
}

TEST_CASE("P9: the oldest message is found without those deleted before it, which an open transaction keeps") {
  Costs costs;
  const PostgresClient reporting(costs.database.location());
  reporting.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  reporting.run("SELECT 1");
  costs.enqueue(5'000);
  costs.database.run("DELETE FROM ackbox.outbox WHERE id<=4990");
  costs.clock->advance(std::chrono::seconds(7));
  costs.enqueue(10);
  const auto blocksRead = [&] {
    return std::stol(
        answerOf(costs.store.handlersConnection(), "SELECT pg_stat_get_xact_blocks_fetched(" + idOf("outbox") + ")"));
  };
  const auto oldest = [&] {
    costs.store.begin(false);
    const long before = blocksRead();
    const auto found = costs.store.vitals().oldestAt;
    const long blocks = blocksRead() - before;
    costs.store.commit();
    REQUIRE(found.has_value());
    const long created =
        std::stol(costs.database.run("SELECT min(created_at_ms) FROM ackbox.outbox WHERE state IN (0,2)"));
    CHECK(std::chrono::duration_cast<std::chrono::milliseconds>(found->time_since_epoch()).count() == created);
    return blocks;
  };
  static_cast<void>(costs.store.discovery().take(100));
  CHECK(oldest() > 50);
  CHECK(oldest() <= 2);
  costs.database.run("DELETE FROM ackbox.outbox WHERE id<=4995");
  CHECK(oldest() <= 3);
  // A message with a lower key, such as one that is put back, is found once it was discovered.
  costs.database.run(
      "INSERT INTO ackbox.outbox SELECT (jsonb_populate_record(o,'{\"id\":7,\"sequence\":7,\"message_id\":\"back\","
      "\"created_at_ms\":1}')).* FROM ackbox.outbox AS o WHERE id=4996");
  costs.database.run("UPDATE ackbox.outbox SET xid=pg_current_xact_id() WHERE id=7");
  CHECK(costs.store.discovery().take(100).rows.size() == 1);
  static_cast<void>(oldest());
}

TEST_CASE("P9: the figures of peers read the messages in flight, and none of those that wait") {
  Costs costs;
  costs.enqueue(2'000);
  costs.database.run("INSERT INTO ackbox.claims SELECT -session_id,1,ARRAY[id] FROM ackbox.outbox WHERE sequence=1");
  const auto readOfOutbox = [&] {
    return std::stol(costs.database.run(
        "SELECT seq_tup_read+coalesce(idx_tup_fetch,0) FROM pg_stat_all_tables WHERE relid=" + idOf("outbox")));
  };
  // A server's process counts what it has read before it is gone.
  const auto others = [&] {
    return costs.database.run("SELECT count(*) FROM pg_stat_activity WHERE datname=current_database()");
  };
  const std::string before = others();
  { const store::postgres::PostgresReader opened(costs.database.location(), costs.options, {}); }
  CHECK(comesTo([&] { return others() == before; }));
  const long opening = readOfOutbox();
  {
    const store::postgres::PostgresReader reader(costs.database.location(), costs.options, {});
    REQUIRE(reader.peerStats().size() == 1);
    CHECK(reader.peerStats().front().sending == 1);
  }
  CHECK(comesTo([&] { return others() == before; }));
  CHECK(readOfOutbox() - opening <= 20);
}

TEST_CASE("P11: a page of whole messages, and a claim, read no more data than fits") {
  Costs costs;
  // 16 messages of 1 MB, in 512 parts each.
  costs.database.run("ALTER TABLE ackbox.outbox ALTER data SET STORAGE EXTERNAL");
  costs.database.run(
      "SELECT count(*) FROM generate_series(1,16) AS n, LATERAL "
      "ackbox.enqueue('default','s','test','\"'||repeat('x',1048574)||'\"',id=>'m'||n)");
  postgres::Connection connection(costs.database.location());
  store::postgres::MessagePages pages(connection, costs.options);
  store::StoredPage page;
  connection.execute("BEGIN");
  const auto readPage = [&] { page = pages.storedMessages({}, 10'000, 0); };
  CHECK(readBy(connection.handle(), partsOf("outbox"), readPage) < 6 * 600);
  CHECK(page.messages.size() == 4);
  CHECK(page.next == page.messages.back().info.row);
  connection.execute("COMMIT");

  const store::NewRows fresh = costs.store.discovery().take(20);
  REQUIRE(fresh.rows.size() == 16);
  delivery::SessionClaim wanted{fresh.rows.front().session, {}};
  for (const delivery::RowSeen& row : fresh.rows) {
    wanted.keys.push_back(row.key);
  }
  store::ClaimReply reply;
  costs.store.begin(false);
  const auto claim = [&] { reply = costs.store.claims().claim({&wanted, 1}, 0, 3U << 20U); };
  CHECK(readBy(costs.store.handlersConnection(), partsOf("outbox"), claim) < 4 * 600);
  CHECK(reply.isFull);
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[1].frame.data == '"' + std::string(1'048'574, 'x') + '"');
  costs.store.commit();
}

TEST_CASE("P11: many large messages of one transaction are written a few MiB at a time") {
  Costs costs;
  costs.database.run(
      "CREATE TABLE statements(rows integer); CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO statements SELECT count(*) FROM added; RETURN NULL; END $$; CREATE TRIGGER noting AFTER INSERT ON "
      "ackbox.outbox REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION noting()");
  Frame large;
  large.session = "s";
  large.type = "test";
  large.data = '"' + std::string((std::size_t{256} << 10U) - 2, 'x') + '"';
  costs.store.begin(false);
  for (int count = 0; count < 40; ++count) {
    REQUIRE(costs.store.outbox().enqueue(large).accepted());
  }
  costs.store.commit();
  CHECK(costs.database.run("SELECT sum(rows)||' '||max(rows) FROM statements") == "40 16");
}

TEST_CASE("P9: a list reads few rows behind its page's end") {
  Costs costs;
  costs.enqueue(2'000);
  costs.database.run("ANALYZE ackbox.outbox");
  postgres::Connection connection(costs.database.location());
  store::postgres::MessagePages pages(connection, costs.options);
  MessagePage page;
  const auto readPage = [&] { page = pages.messages({}, 10, 0); };
  connection.execute("BEGIN");
  CHECK(readBy(connection.handle(), idOf("outbox"), readPage) <= 600);
  connection.execute("COMMIT");
  CHECK(page.messages.size() == 10);
  page = pages.messages({.type = "other"}, 10, 0);
  CHECK(page.messages.empty());
  CHECK(page.next == 0);
  page = pages.messages({}, 1'200, 0);
  CHECK(page.messages.size() == 1'200);
}

TEST_CASE("P9: a burst of frames is read once, however small the pages are in which it is taken") {
  Costs costs;
  const auto pageAfter = [&](const store::InboxCursor& cursor) { return costs.store.inbox().rowsAfter(cursor, 10); };
  costs.store.begin(false);
  store::NewInboxRows page = pageAfter({});
  costs.store.commit();
  CHECK(page.rows.empty());
  costs.database.run(
      "INSERT INTO "
      "ackbox.inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,accepted_at_ms,"
      "type,data) SELECT 'o','s',n,'f'||n,'bob',1,n-1,true,1,'test','1' FROM generate_series(1,300) AS n");
  std::size_t taken = 0;
  const auto takeAll = [&] {
    do {
      page = pageAfter(page.next);
      taken += page.rows.size();
    } while (!page.rows.empty());
  };
  costs.store.begin(false);
  // The first page looks for all that are new, and the server's first five plans may read all that is left.
  CHECK(readBy(costs.store.handlersConnection(), idOf("inbox"), takeAll) < 10 * 300);
  costs.store.commit();
  CHECK(taken == 300);
}

TEST_CASE("P12: an application's transaction changes no row of keys or counts that another one has made") {
  Costs costs;
  costs.database.run("INSERT INTO ackbox.idempotency_keys VALUES('old',1,'',0,0,'')");
  costs.enqueue(100);
  const PostgresClient application(costs.database.location());
  OutboxOptions limited = costs.options;
  limited.maxPending = 1'000;
  limited.adoptPeers = true;
  PgOutboxWriter writer(application.connection.get(), limited);
  application.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  application.run("SELECT 1");
  const auto enqueue = [&] {
    for (int number = 0; number < 200; ++number) {
      Frame frame;
      frame.session = "s";
      frame.type = "test";
      frame.idempotencyKey = "k" + std::to_string(number);
      REQUIRE(writer.enqueue(frame).isNew());
    }
  };
  // One sum, and then some of it above half of the limit: never one for each enqueue.
  CHECK(readBy(application.connection.get(), idOf("counts"), enqueue) < 2 * 300);
  for (const std::string table : {"counts", "idempotency_keys"}) {
    CAPTURE(table);
    CHECK(costs.database.run("SELECT count(*)>0 FROM (SELECT 1 FROM ackbox." + table + " FOR UPDATE NOWAIT) AS r") ==
          "t");
  }
  CHECK(application.run("COMMIT").empty());
  CHECK(costs.rows("counts") == 300);
}

TEST_CASE("P9: a process's poll folds the counts of applications, and removes the keys that only they have used") {
  Costs costs;
  costs.enqueue(300, ",idempotency_key=>'k'||n");
  costs.database.run("DELETE FROM ackbox.outbox WHERE sequence>1");
  const auto tidy = [&] {
    costs.store.begin(false);
    const bool isUntidy = costs.store.tidy();
    costs.store.commit();
    return isUntidy;
  };
  costs.database.run("UPDATE ackbox.idempotency_keys SET keep_until_ms=" +
                     std::to_string(costs.clock->wallNow().time_since_epoch().count()));
  CHECK(tidy());
  CHECK(costs.rows("counts") == 1);
  CHECK(costs.rows("idempotency_keys") == 45);
  CHECK_FALSE(tidy());
  CHECK(costs.database.run("SELECT key FROM ackbox.idempotency_keys") == "k1");
  costs.enqueue(300);
  CHECK_FALSE(tidy());
  CHECK(costs.rows("counts") == 301);
  costs.clock->advance(std::chrono::seconds(1));
  CHECK_FALSE(tidy());
  CHECK(costs.rows("counts") == 1);
}

}  // namespace pg_cost_test
