// Goal: P3 P4 P9: what a role, a database or the environment prefers, and where a database came from, does not reach
// what the store reads and writes. Method: databases with unusual settings, from a dump of another cluster, and in
// another encoding.

#include <doctest/doctest.h>

#include <string>

#include "ackbox/error.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/messages.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace pg_settings_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

TEST_CASE("P3: data and names are the same whatever form a database's settings give to bytes and texts") {
  const PostgresDatabase database;
  for (const char* const setting :
       {"bytea_output='escape'", "client_encoding='LATIN1'", "standard_conforming_strings=off",
        "default_transaction_isolation='serializable'", "backslash_quote=on"}) {
    database.run("ALTER DATABASE " + database.name() + " SET " + setting);
  }
  const std::string data = R"({"a":"hello \\ w\u00f6rld é"})";
  PostgresStore store(database.location(), {});
  Frame frame = frameOf("sé", data, "first");
  frame.idempotencyKey = "k";
  CHECK(enqueueOne(store, frame).status == EnqueueStatus::stored);
  // The same key, session, type and data by SQL, in a session with those settings.
  const PostgresClient client(database.location());
  client.run("SET client_encoding='UTF8'");
  client.run("SET escape_string_warning=off");
  const std::string duplicate = client.run("SELECT status||' '||is_conflict FROM ackbox.enqueue('default','sé','" +
                                           frame.type + "',$data$" + data + "$data$,idempotency_key=>'k')");
  CHECK(duplicate == "duplicate false");
  const store::ClaimReply claimed = claimNew(store);
  REQUIRE(claimed.messages.size() == 1);
  CHECK(claimed.messages.front().frame.data == data);
  CHECK(claimed.messages.front().frame.session == "sé");
}

TEST_CASE("P9: a server that publishes all tables takes every change of the store") {
  const PostgresDatabase database;
  database.run("CREATE PUBLICATION everything FOR ALL TABLES");
  PostgresStore store(database.location(), {});
  for (int turn = 0; turn < 3; ++turn) {
    const std::string id = enqueueOne(store, frameOf("s")).messageId;
    store.begin(true);
    CHECK(store.settles().ackById(id).has_value());
    store.inboundMarks().countDuplicate();
    store.commit();
  }
  store.begin(true);
  static_cast<void>(store.repair());
  store.commit();
  const auto keyless = database.run(
      "SELECT coalesce(string_agg(relname,' '),'') FROM pg_class AS c WHERE relnamespace='ackbox'::regnamespace AND "
      "relkind='r' AND relpersistence='p' AND relreplident='d' AND NOT EXISTS(SELECT 1 FROM pg_index AS i WHERE "
      "i.indrelid=c.oid AND i.indisprimary)");
  CHECK(keyless.empty());
}

TEST_CASE("P3: a database in another encoding than UTF-8 is refused") {
  PostgresServer::get().run("CREATE DATABASE ackbox_latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  std::string why;
  try {
    const PostgresStore store(PostgresServer::get().location("ackbox_latin"), {});
  } catch (const Error& error) {
    CHECK(error.code() == Errc::cannotOpen);
    why = error.what();
  }
  CHECK(why.find("LATIN1") != std::string::npos);
  PostgresServer::get().run("DROP DATABASE ackbox_latin WITH (FORCE)");
}

TEST_CASE("P3 P4: what waits in a dump that was restored in another cluster is found, and goes before later messages") {
  const PostgresDatabase database;
  {
    PostgresStore store(database.location(), {});
    enqueueOne(store, frameOf("s", "{}", "first"));
    acceptFrame(store, inboundFrame(1));
  }
  // The numbers of that cluster's transactions are ahead of this one's.
  database.run("UPDATE ackbox.meta SET server='1/00000001'");
  for (const char* const table : {"outbox", "inbox"}) {
    database.run(std::string("UPDATE ackbox.") + table +
                 " SET xid=((pg_current_xact_id()::text::bigint+1000000)::text)::xid8");
  }
  PostgresStore store(database.location(), {});
  enqueueOne(store, frameOf("s", "{}", "second"));
  const store::NewRows rows = store.discovery().take(10);
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.rows.front().key < rows.rows.back().key);
  store.begin(false);
  CHECK(store.inbox().rowsAfter({}, 10).rows.size() == 1);
  store.commit();
}

TEST_CASE("P5: a handler's savepoint has any name, and what the handler did is undone with its frame") {
  const PostgresDatabase database;
  database.run("CREATE TABLE effects(id integer)");
  PostgresStore store(database.location(), {});
  store.begin(true);
  store.savepoint();
  PGconn* const handler = store.handlersConnection();
  PQclear(PQexec(handler, "INSERT INTO effects VALUES(1); SAVEPOINT s1; INSERT INTO effects VALUES(2)"));
  store.rollbackToSavepoint();
  store.commit();
  CHECK(database.run("SELECT count(*) FROM effects") == "0");
}

}  // namespace pg_settings_test
