// Goal: P3 P4: an outbox in a database that went back to an earlier state becomes another store, whose messages no peer
// takes for those of the former one; nothing else of it changes, and no process goes on as the former one.
// Method: a store with messages in each state; processes and clients that have the database open, or have lost it.

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "ackbox/error.hpp"
#include "ackbox/postgres.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/messages.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace pg_new_store_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using store::postgres::PostgresReader;
using store::postgres::PostgresStore;

namespace {

/// A store of which some messages were acknowledged and kept, deferred by the peer, or failed, and others wait.
struct Stage {
  Stage() {
    options.ackedRetention = std::chrono::hours(1);
    PostgresStore store(database.location(), options);
    enqueueOne(store, frameOf("s", "{}", "acked"));
    settleAll(store, Transition::ack);
    enqueueOne(store, frameOf("s", "{}", "failed"));
    settleAll(store, Transition::fail);
    enqueueOne(store, frameOf("s", "{}", "sent"));
    settleAll(store, Transition::defer);
    Frame keyed = frameOf("s", "{}", "first");
    keyed.idempotencyKey = "k";
    enqueueOne(store, keyed);
    enqueueOne(store, frameOf("", "{}", "unordered"));
    for (const char* const id : {"second", "third"}) {
      enqueueOne(store, frameOf("s", "{}", id));
    }
    enqueueOne(store, frameOf("t", "{}", "other"));
    acceptFrame(store, inboundFrame(1));
    database.run("UPDATE ackbox.peers SET hold=1,down=true,failures=3,last_error='held'");
    origin = store.origin();
  }
  [[nodiscard]] std::string rows() const {
    return database.run(
        "SELECT string_agg(o.message_id||' '||s.name||' '||o.sequence||' '||o.state,', ' ORDER BY o.id) FROM "
        "ackbox.outbox AS o JOIN ackbox.sessions AS s ON s.id=o.session_id");
  }
  [[nodiscard]] PostgresLocation location() const { return {database.location()}; }
  [[nodiscard]] static Errc refusal(const PostgresLocation& location, std::string& text) {
    try {
      makeNewStore(location);
    } catch (const Error& error) {
      text = error.what();
      return static_cast<Errc>(error.code().value());
    }
    return Errc{};
  }

  PostgresDatabase database;
  OutboxOptions options;
  std::string origin;
};

}  // namespace

TEST_CASE(
    "P3 P4: what waits gets numbers from 1 in its order, dead letters stay, and what the peers have is left out") {
  const Stage stage;
  CHECK(stage.rows() ==
        "acked s 1 3, failed s 2 4, sent s 3 2, first s 4 0, unordered  0 0, second s 5 0, third s 6 0, other t 1 0");
  const NewStoreReport report = makeNewStore(stage.location());
  CHECK(report.originBefore == stage.origin);
  CHECK(report.origin != stage.origin);
  CHECK(report.pending == 5);
  CHECK(report.failed == 1);
  CHECK(report.sentLeftOut == 1);
  CHECK(report.ackedLeftOut == 1);
  CHECK(stage.rows() == "failed s 1 4, first s 2 0, unordered  0 0, second s 3 0, third s 4 0, other t 1 0");
  PostgresStore store(stage.database.location(), stage.options);
  CHECK(store.origin() == report.origin);
  CHECK(enqueueOne(store, frameOf("s")).sequence == 5);
  CHECK(enqueueOne(store, keyed("k")).messageId == "first");
  CHECK(claimNew(store).messages.size() == 6);
  const PostgresReader reader(stage.database.location(), stage.options);
  CHECK(reader.verify().findings.empty());
  CHECK(reader.stats().sent == 0);
  CHECK(reader.stats().ackedRetained == 0);
  CHECK(reader.stats().inbox == 1);
  CHECK(stage.database.run("SELECT hold||last_error||down FROM ackbox.peers") == "0false");
}

TEST_CASE("P3: a database that a process has open is refused, the process is named, and nothing is changed") {
  const Stage stage;
  const std::string before = stage.rows();
  const PostgresStore store(stage.database.location(), stage.options);
  std::string text;
  CHECK(Stage::refusal(stage.location(), text) == Errc::alreadyRunning);
  CHECK(text.find("process " + std::to_string(getpid()) + " on the server's host") != std::string::npos);
  CHECK(stage.rows() == before);
  CHECK(stage.database.run("SELECT origin FROM ackbox.meta") == stage.origin);
}

TEST_CASE(
    "P3: a process that has lost its connection meanwhile does not go on under the former identity, and says why") {
  const Stage stage;
  PostgresStore store(stage.database.location(), stage.options);
  stage.database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  makeNewStore(stage.location());
  const std::string before = stage.rows();
  for (int times = 0; times < 2; ++times) {
    std::error_code code;
    try {
      enqueueOne(store, frameOf("s"));
    } catch (const Error& error) {
      code = error.code();
    }
    store.rollback();
    CHECK(code == Errc::databaseReplaced);
    CHECK(store.isReplaced());
  }
  CHECK(stage.rows() == before);
}

TEST_CASE("P2 P4: an enqueue with a snapshot of before gets no number of the former store") {
  const Stage stage;
  const PostgresClient client(stage.database.location());
  client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  client.run("SELECT 1");
  makeNewStore(stage.location());
  CHECK(client.enqueue("'default','s','test','{}'") == "40001");
  client.run("ROLLBACK");
  CHECK(client.enqueue("'default','s','test','{}'") == "stored 5");
}

TEST_CASE("P3: an outbox that breaks an invariant is refused, and nothing is changed") {
  const Stage stage;
  stage.database.run("UPDATE ackbox.outbox SET state=7 WHERE message_id='third'");
  const std::string before = stage.rows();
  std::string text;
  CHECK(Stage::refusal(stage.location(), text) == Errc::databaseError);
  CHECK(text.find("its state is unknown") != std::string::npos);
  CHECK(stage.rows() == before);
}

}  // namespace pg_new_store_test
