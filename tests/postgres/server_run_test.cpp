// Goal: P1 P5: a server that crashed, or a standby in its place, may give the numbers of transactions out again, so
// what a process knows by them counts for the server's run alone. Method: functions of the test in the place of the
// server's, which tell when it was started and what became of a transaction; connections that are ended.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "ackbox/error.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/messages.hpp"
#include "support/comes_to.hpp"
#include "support/postgres_database.hpp"

namespace server_run_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

/// A database whose server can seem to begin anew, after which each number of a transaction is one that committed.
class Restarting {
public:
  Restarting() {
    database.run(
        "CREATE SCHEMA fake; CREATE TABLE fake.runs AS SELECT false AS isreused; CREATE FUNCTION "
        "fake.pg_xact_status(xid8) RETURNS text LANGUAGE sql AS 'SELECT CASE WHEN isreused THEN ''committed'' ELSE "
        "pg_catalog.pg_xact_status($1) END FROM fake.runs'");
    database.run("ALTER DATABASE " + database.name() + " SET search_path=fake,pg_catalog");
  }
  /// As a crash does, it empties what is not logged. Waits for no standby.
  void beginAnew() const {
    database.run(
        "BEGIN; SET LOCAL synchronous_commit=local; UPDATE fake.runs SET isreused=true; DELETE FROM "
        "ackbox.server_run; COMMIT");
  }

  PostgresDatabase database;
};

void end(const PostgresDatabase& database, const PostgresStore& store) {
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
}

}  // namespace

TEST_CASE("P1: after the server began anew, another transaction's commit is not taken for an enqueue's") {
  const Restarting server;
  const PostgresDatabase& database = server.database;
  PostgresStore store(database.location(), {});
  database.run(
      "CREATE FUNCTION ending() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
      "pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
  database.run(
      "CREATE CONSTRAINT TRIGGER ending AFTER INSERT ON ackbox.outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
      "EXECUTE FUNCTION ending()");
  store.begin(true);
  CHECK(store.outbox().enqueue(frameOf("s")).isNew());
  server.beginAnew();
  try {
    store.commit();
    FAIL("it was taken for committed");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::outcomeUnknown);
  }
  CHECK(store.failedFor() == store::FailedFor::absence);
  database.run("DROP TRIGGER ending ON ackbox.outbox");
  store.begin(true);
  CHECK(store.outbox().enqueue(frameOf("s")).sequence == 1);
  store.commit();
}

TEST_CASE("P5: after the server began anew, an enqueue that was committed is not stored again") {
  const Restarting server;
  const PostgresDatabase& database = server.database;
  PostgresStore store(database.location(), {});
  const std::string process = std::to_string(store.serverProcess());
  const std::int64_t owner = store.owner();
  setStandby("nobody");
  std::thread ending([&] {
    awaitCommitOf(process);
    server.beginAnew();
    PostgresServer::get().run("SELECT pg_terminate_backend(" + process + ", 10000)");
    setStandby("");
  });
  // The server reads its settings at some time: commits that come before do not wait.
  std::uint64_t sent = 0;
  const bool isEnded = comesTo([&] {
    store.begin(true);
    CHECK(store.outbox().enqueue(frameOf("s")).sequence == ++sent);
    CHECK_NOTHROW(store.commit());
    return store.owner() != owner;
  });
  ending.join();
  CHECK(isEnded);
  const store::postgres::PostgresReader reader(database.location(), {});
  CHECK(reader.stats().pending == sent);
}

TEST_CASE("P5: after the server began anew, frames of transactions with numbers that were seen before are found") {
  const Restarting server;
  const PostgresDatabase& database = server.database;
  PostgresStore store(database.location(), {});
  store::InboxCursor cursor;
  const auto found = [&] {
    store.begin(true);
    const store::NewInboxRows rows = store.inbox().rowsAfter(cursor, 10);
    store.commit();
    cursor = rows.next;
    return rows.rows.size();
  };
  const auto add = [&](const std::string& session) {
    store.begin(true);
    store.inbox().add(inboundFrame(1, session), true);
    store.commit();
  };
  add("a");
  CHECK(found() == 1);
  CHECK(found() == 0);
  add("b");
  database.run("UPDATE ackbox.inbox SET xid='3' WHERE session='b'");
  CHECK(found() == 0);
  end(database, store);
  CHECK(found() == 0);
  server.beginAnew();
  end(database, store);
  CHECK(found() == 2);
  CHECK(found() == 0);
}

}  // namespace server_run_test
