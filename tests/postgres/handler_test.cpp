// Goal: P5: a handler's statements on the store's connection, the mark and the replies commit together, and a handler
// that breaks its transaction spoils its own frame only. Method: requests as bytes; the handler writes a real table.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "store/postgres/postgres_store.hpp"
#include "support/inbound_request.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace pg_handler_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

/// An agent that writes each frame's data into table `effects`, and runs the data as a statement.
struct Receiver {
  explicit Receiver(const OutboxOptions& options = {})
      : manager(OutboxManager::open(PostgresLocation{database.location()}, options)) {
    database.run("CREATE TABLE effects(data text)");
  }

  static HandlerResult act(const InboundFrame& frame, InboundTransaction& transaction) {
    PGconn* const connection = connectionOf(transaction);
    const std::string statement = nlohmann::json::parse(frame.data).get<std::string>();
    answerOf(connection, "INSERT INTO effects VALUES('" + frame.id + "')");
    Frame reply;
    reply.session = "replies";
    reply.type = "reply";
    reply.data = "1";
    transaction.enqueue(reply);
    answerOf(connection, statement);
    return frame.type == "refused" ? HandlerResult::reject("no") : HandlerResult::ack();
  }

  /// The outcomes of one request with these frames of a session each.
  [[nodiscard]] std::vector<std::string> outcomes(const std::vector<OutboundFrame>& frames) {
    const InboundResponse response = answerTo(handler, inboundRequest(sendRequest(frames)));
    std::vector<std::string> found{std::to_string(response.status)};
    const auto body = nlohmann::json::parse(response.body, nullptr, false);
    if (body.is_object() && body.contains("results")) {
      for (const auto& result : body["results"]) {
        found.push_back(result.value("outcome", std::string("?")));
      }
    }
    return found;
  }
  [[nodiscard]] std::string effects() const {
    return database.run("SELECT coalesce(string_agg(data,',' ORDER BY data),'') FROM effects");
  }

  PostgresDatabase database;
  OutboxManager manager;
  InboundHandler handler{manager, act, InboundOptions{.allowAnonymous = true}};
};

OutboundFrame statement(const std::string& session, const std::string& sql, const std::string& type = "test") {
  return outboundFrame(session, 1, type, nlohmann::json(sql).dump());
}

}  // namespace

TEST_CASE("P5: effects on the store's connection, marks and replies commit together, and once") {
  Receiver bob;
  const std::vector<OutboundFrame> frames = {statement("a", "SELECT 1"), statement("b", "SELECT 1", "refused"),
                                             statement("c", "SAVEPOINT mine")};
  const std::vector<std::string> first = bob.outcomes(frames);
  CHECK(first == std::vector<std::string>{"200", "ack", "term", "ack"});
  CHECK(bob.effects() == "a-1,c-1");
  CHECK(bob.manager.getStats().pending == 2);
  CHECK(bob.outcomes(frames) == first);
  CHECK(bob.effects() == "a-1,c-1");
  CHECK(bob.manager.getStats().pending == 2);
  CHECK(bob.manager.getStats().received == 2);
  CHECK(OutboxReader(bob.manager).verify().findings.empty());
}

TEST_CASE("P5: a handler that breaks its transaction, and acknowledges, spoils its own frame only") {
  Receiver bob;
  std::string broken;
  SUBCASE("a statement failed") {
    broken = "SELECT 1/0";
  }
  SUBCASE("rolled back") {
    broken = "ROLLBACK";
  }
  SUBCASE("rolled back and begun again") {
    broken = "ROLLBACK;BEGIN";
  }
  const std::vector<std::string> found =
      bob.outcomes({statement("a", "SELECT 1"), statement("b", broken), statement("c", "SELECT 1")});
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "200");
  CHECK(found[1] == "ack");
  CHECK(found[2] != "ack");
  CHECK(found[3] == "ack");
  CHECK(bob.effects() == "a-1,c-1");
  CHECK(OutboxReader(bob.manager).verify().findings.empty());
}

TEST_CASE("P12: what a handler enqueues waits for a transaction up to busyTimeout; then its frame is handled again") {
  OutboxOptions options;
  options.busyTimeout = std::chrono::milliseconds(50);
  Receiver bob(options);
  REQUIRE(bob.outcomes({statement("a", "SELECT 1")})[1] == "ack");
  const PostgresClient application(bob.database.location());
  application.run("BEGIN");
  REQUIRE(application.run("SELECT status FROM ackbox.enqueue('default','replies','test','{}')") == "stored");
  CHECK(bob.outcomes({statement("b", "SELECT 1")}) == std::vector<std::string>{"503", "nack"});
  CHECK(bob.effects() == "a-1");
  application.run("ROLLBACK");
  CHECK(bob.outcomes({statement("b", "SELECT 1")})[1] == "ack");
  CHECK(bob.effects() == "a-1,b-1");
}

TEST_CASE("P9: a handler's statements are planned as on any connection, and the store's own by index") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  const auto setting = [&] {
    return answerOf(store.handlersConnection(), "SHOW enable_seqscan") + " " +
           answerOf(store.handlersConnection(), "SHOW plan_cache_mode");
  };
  const std::string own = "off force_generic_plan";
  const std::string theirs = "on auto";
  Frame frame;
  frame.session = "replies";
  frame.type = "reply";
  store.begin(true);
  CHECK(setting() == own);
  for (const bool isKept : {true, false}) {
    store.savepoint();
    store.guardTransaction(true);
    CHECK(setting() == theirs);
    CHECK(store.outbox().enqueue(frame).isNew());
    CHECK(setting() == theirs);
    store.guardTransaction(false);
    isKept ? store.releaseSavepoint() : store.rollbackToSavepoint();
    CHECK(setting() == own);
  }
  store.commit();
}

}  // namespace pg_handler_test
