// Goal: P2 P4: an application's transaction gets no number that another message has had, whatever its isolation: it
// stores its message, or it fails as a transaction that is to be repeated.
// Method: an application whose snapshot is older than what a store commits meanwhile.

#include <doctest/doctest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "store/postgres/outbound/application_writer.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "support/postgres_database.hpp"

namespace isolation_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

struct Application {
  explicit Application(const std::string& location) : connection(PQconnectdb(location.c_str()), PQfinish) {}
  void run(const std::string& sql) const {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    REQUIRE((status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK));
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection;
};

/// What becomes of another message of the session, once the application has its snapshot.
enum class Meanwhile { nothing, stored, gone };

std::vector<std::pair<std::string, Meanwhile>> cases() {
  std::vector<std::pair<std::string, Meanwhile>> all;
  for (const char* const isolation : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    for (const Meanwhile meanwhile : {Meanwhile::nothing, Meanwhile::stored, Meanwhile::gone}) {
      all.emplace_back(isolation, meanwhile);
    }
  }
  return all;
}

Frame frame() {
  Frame made;
  made.session = "s";
  made.type = "test";
  made.data = "{}";
  return made;
}

std::string enqueued(store::Store& store) {
  store.begin(true);
  std::string id = store.outbox().enqueue(frame()).messageId;
  store.commit();
  return id;
}

void acknowledge(store::Store& store, const std::string& id) {
  store.begin(true);
  REQUIRE(store.settles().ackById(id));
  store.commit();
}

}  // namespace

TEST_CASE("P2 P4: a number that was given since the snapshot is not given again, be its message there or gone") {
  for (const auto& one : cases()) {
    const std::string& isolation = one.first;
    const Meanwhile meanwhile = one.second;
    CAPTURE(isolation);
    CAPTURE(static_cast<int>(meanwhile));
    const PostgresDatabase database;
    const OutboxOptions options;
    store::postgres::PostgresStore store(database.location(), options);
    acknowledge(store, enqueued(store));
    const Application application(database.location());
    store::postgres::ApplicationWriter writer(application.connection.get(), options);
    const auto begin = [&] { application.run("BEGIN ISOLATION LEVEL " + isolation + "; SELECT 1 FROM ackbox.meta"); };
    begin();
    if (meanwhile != Meanwhile::nothing) {
      const std::string id = enqueued(store);
      if (meanwhile == Meanwhile::gone) {
        acknowledge(store, id);
      }
    }
    const bool isGivenMeanwhile = meanwhile != Meanwhile::nothing;
    if (isGivenMeanwhile && isolation != "READ COMMITTED") {
      try {
        static_cast<void>(writer.enqueue(frame()));
        FAIL("a number was given twice");
      } catch (const Error& error) {
        CHECK(error.code() == Errc::databaseBusy);
      }
      application.run("ROLLBACK");
      begin();
    }
    CHECK(writer.enqueue(frame()).sequence == (isGivenMeanwhile ? 3 : 2));
    application.run("COMMIT");
    const store::postgres::PostgresReader reader(database.location(), options);
    CHECK(reader.verify().findings.empty());
  }
}

TEST_CASE("P12: an application's open transaction keeps no delivery of its session waiting") {
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ"}) {
    CAPTURE(isolation);
    const PostgresDatabase database;
    const OutboxOptions options;
    store::postgres::PostgresStore store(database.location(), options);
    const std::string first = enqueued(store);
    const Application application(database.location());
    store::postgres::ApplicationWriter writer(application.connection.get(), options);
    application.run("BEGIN ISOLATION LEVEL " + isolation);
    REQUIRE(writer.enqueue(frame()).isNew());
    const auto rows = store.discovery().take(10).rows;
    REQUIRE(rows.size() == 1);
    const delivery::SessionClaim wanted{rows[0].session, {rows[0].key}};
    store.begin(false);
    const store::ClaimReply reply = store.claims().claim({&wanted, 1});
    REQUIRE(reply.messages.size() == 1);
    const delivery::Settlement settlement{.key = rows[0].key,
                                          .session = rows[0].session,
                                          .attempt = reply.sessions[0].rows[0].attempt,
                                          .transition = delivery::Transition::ack};
    CHECK(store.settles().settle({&settlement, 1}).front());
    const delivery::SessionRelease release{.session = rows[0].session, .previousSequence = 1};
    store.claims().endClaims({&release, 1});
    store.commit();
    application.run("COMMIT");
    CHECK(store.discovery().take(10).rows.size() == 1);
  }
}

}  // namespace isolation_test
