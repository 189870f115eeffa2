// Goal: P5: where the answer to a COMMIT is lost, what was committed is not stored again, and what was not is not told
// as stored. Method: a server that waits for a standby that it does not have, behind the commit, while its process is
// ended; and a trigger that ends the process before the commit.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "ackbox/error.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "support/postgres_database.hpp"

namespace lost_answer_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

Frame frame() {
  Frame made;
  made.session = "s";
  made.type = "test";
  made.data = "{}";
  return made;
}

}  // namespace

TEST_CASE("P5: a message whose commit was made, and not answered, is stored once") {
  const PostgresDatabase database;
  const OutboxOptions options;
  store::postgres::PostgresStore store(database.location(), options);
  const std::string process = std::to_string(store.serverProcess());
  const std::int64_t owner = store.owner();
  setStandby("nobody");
  std::thread ending([&] {
    awaitCommitOf(process);
    PostgresServer::get().run("SELECT pg_terminate_backend(" + process + ", 10000)");
    setStandby("");
  });
  // The server reads its settings at some time: commits that come before do not wait.
  std::uint64_t sent = 0;
  while (store.owner() == owner) {
    store.begin(true);
    CHECK(store.outbox().enqueue(frame()).sequence == ++sent);
    CHECK_NOTHROW(store.commit());
  }
  ending.join();
  store.begin(true);
  CHECK(store.outbox().enqueue(frame()).sequence == ++sent);
  store.commit();
  CHECK(store.discovery().take(100'000).rows.size() == sent);
  const store::postgres::PostgresReader reader(database.location(), options);
  CHECK(reader.stats().pending == sent);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P1: a message whose commit was not made is not told as stored") {
  const PostgresDatabase database;
  const OutboxOptions options;
  store::postgres::PostgresStore store(database.location(), options);
  database.run(
      "CREATE FUNCTION ending() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
      "pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
  database.run(
      "CREATE CONSTRAINT TRIGGER ending AFTER INSERT ON ackbox.outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
      "EXECUTE FUNCTION ending()");
  store.begin(true);
  CHECK(store.outbox().enqueue(frame()).sequence == 1);
  CHECK_THROWS_AS(store.commit(), Error);
  CHECK_FALSE(store.inTransaction());
  database.run("DROP TRIGGER ending ON ackbox.outbox");
  store.begin(true);
  CHECK(store.outbox().enqueue(frame()).sequence == 1);
  store.commit();
  CHECK(store.discovery().take(10).rows.size() == 1);
}

}  // namespace lost_answer_test
