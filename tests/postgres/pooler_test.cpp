// Goal: a real PgBouncer in front of the server keeps no manager's locks, and is refused; an application's transactions
// may pass through it: P2. Method: both modes; two clients that take turns on the pooler's one connection to the
// server.

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"

namespace pooler_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

Frame frame(const std::string& data) {
  Frame made;
  made.session = "s";
  made.type = "test";
  made.data = data;
  return made;
}

template <typename Facade>
std::error_code refusal(const std::string& location) {
  try {
    static_cast<void>(Facade::open(PostgresLocation{location}));
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("PgBouncer is refused, in transaction mode and in session mode" * doctest::skip(!PgBouncer::isInstalled())) {
  const PostgresDatabase database;
  for (const std::string mode : {"transaction", "session"}) {
    CAPTURE(mode);
    const PgBouncer pooler(mode);
    CHECK(PostgresClient(pooler.location(database.name())).run("SELECT 1") == "1");
    CHECK(refusal<OutboxManager>(pooler.location(database.name())) == Errc::pooledConnection);
    CHECK(refusal<OutboxReader>(pooler.location(database.name())) == Errc::pooledConnection);
    CHECK(database.run("SELECT to_regnamespace('ackbox') IS NULL") == "t");
  }
}

TEST_CASE("P1 P2: an application's transactions pass through PgBouncer in transaction mode, and wait for a sync" *
          doctest::skip(!PgBouncer::isInstalled())) {
  const PostgresDatabase database;
  const auto sender = ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(PostgresLocation{database.location()});
  manager.setSender(sender);
  database.run("ALTER DATABASE " + database.name() + " SET synchronous_commit=off");
  const PgBouncer pooler("transaction");
  const PostgresClient first(pooler.location(database.name()));
  const PostgresClient second(pooler.location(database.name()));
  PgOutboxWriter writer(manager, first.connection.get());
  for (const std::string end : {"ROLLBACK", "COMMIT"}) {
    CAPTURE(end);
    // Whatever the one before has left on the connection to the server.
    CHECK(second.run("DISCARD ALL").empty());
    first.run("BEGIN");
    CHECK(writer.enqueue(frame("1")).sequence == 1);
    CHECK(first.run("SHOW synchronous_commit") == "on");
    first.run(end);
    CHECK(second.run("SHOW synchronous_commit") == "off");
  }
  second.run("BEGIN");
  CHECK(second.enqueue("'default','s','test','2'") == "stored 2");
  CHECK(second.run("SHOW synchronous_commit") == "on");
  second.run("COMMIT");
  manager.processAll();
  REQUIRE(sender->frames().size() == 2);
  CHECK(sender->frames().front().data == "1");
  CHECK(sender->frames().back().data == "2");
  CHECK(OutboxReader(manager).verify().findings.empty());
}

}  // namespace pooler_test
