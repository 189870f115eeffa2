// Goal: P5: a handler's statements on the store's connection, the mark and the replies commit together, and a handler
// that breaks its transaction spoils its own frame only. Method: requests as bytes; the handler writes a real table.

#include <doctest/doctest.h>

#include <chrono>
#include <map>
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
    if (const auto misuse = misuses().find(statement); misuse != misuses().end()) {
      misuse->second(connection);
    } else {
      answerOf(connection, statement);
    }
    if (frame.type == "replying twice") {
      transaction.enqueue(reply);
    }
    return frame.type == "refused" ? HandlerResult::reject("no") : HandlerResult::ack();
  }

  /// What a handler may leave of libpq's own state.
  static const std::map<std::string, void (*)(PGconn*)>& misuses() {
    static const std::map<std::string, void (*)(PGconn*)> kAll = {
        {"pipeline mode", [](PGconn* connection) { PQenterPipelineMode(connection); }},
        {"a result that is not read", [](PGconn* connection) { PQsendQuery(connection, "SELECT 1"); }},
        {"a COMMIT that is not read", [](PGconn* connection) { PQsendQuery(connection, "COMMIT"); }},
        {"a COPY to the server", [](PGconn* connection) { answerOf(connection, "COPY effects FROM STDIN"); }},
        {"a COPY from the server", [](PGconn* connection) { answerOf(connection, "COPY effects TO STDOUT"); }},
        {"a reset connection", [](PGconn* connection) { PQreset(connection); }},
    };
    return kAll;
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
  const PostgresClient locking(bob.database.location());
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
  SUBCASE("a deferred constraint does not hold") {
    answerOf(locking.connection.get(),
             "CREATE TABLE parents(id integer PRIMARY KEY); CREATE TABLE children(parent integer REFERENCES parents "
             "DEFERRABLE INITIALLY DEFERRED)");
    broken = "INSERT INTO children VALUES(7)";
  }
  SUBCASE("a deferred trigger breaks a constraint that it defers again") {
    answerOf(locking.connection.get(),
             "CREATE TABLE parents(id integer PRIMARY KEY); CREATE TABLE children(parent integer REFERENCES parents "
             "DEFERRABLE INITIALLY DEFERRED); CREATE FUNCTION deferring() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
             "SET CONSTRAINTS ALL DEFERRED; INSERT INTO children VALUES(7); RETURN NULL; END $$; CREATE TABLE "
             "again(id integer); CREATE CONSTRAINT TRIGGER deferring AFTER INSERT ON again DEFERRABLE INITIALLY "
             "DEFERRED FOR EACH ROW EXECUTE FUNCTION deferring()");
    broken = "INSERT INTO again VALUES(1)";
  }
  SUBCASE("a deferred key is there twice") {
    answerOf(locking.connection.get(), "CREATE TABLE twice(id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    broken = "INSERT INTO twice VALUES(1),(1)";
  }
  SUBCASE("a deferred check waits for a lock") {
    answerOf(
        locking.connection.get(),
        "CREATE TABLE parents(id integer PRIMARY KEY); INSERT INTO parents VALUES(1); CREATE TABLE "
        "children(parent integer REFERENCES parents DEFERRABLE INITIALLY DEFERRED); BEGIN; SELECT 1 FROM parents FOR "
        "UPDATE");
    broken = "SET lock_timeout=1; INSERT INTO children VALUES(1)";
  }
  SUBCASE("a deferred check takes too long") {
    answerOf(
        locking.connection.get(),
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END "
        "$$; CREATE TABLE slowly(id integer); CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slowly DEFERRABLE "
        "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()");
    broken = "SET statement_timeout=20; INSERT INTO slowly VALUES(1)";
  }
  SUBCASE("ended, and then changed") {
    broken = "ROLLBACK; SET default_transaction_read_only=on; SELECT pg_advisory_unlock_all()";
  }
  SUBCASE("locks have gone") {
    broken = "SELECT pg_advisory_unlock_all()";
  }
  for (const char* const misuse :
       {"pipeline mode", "a COPY to the server", "a COPY from the server", "a reset connection"}) {
    SUBCASE(misuse) {
      broken = misuse;
    }
  }
  const std::vector<std::string> found =
      bob.outcomes({statement("a", "SELECT 1"), statement("b", broken), statement("c", "SELECT 1")});
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "200");
  CHECK(found[1] == "ack");
  CHECK(found[2] != "ack");
  CHECK(found[3] == "ack");
  CHECK(bob.effects() == "a-1,c-1");
  CHECK(bob.database.run("SELECT count(*) FROM ackbox.owners WHERE ackbox.lives(id)") == "1");
  CHECK(bob.outcomes({statement("d", "SELECT 1")})[1] == "ack");
  CHECK(OutboxReader(bob.manager).verify().findings.empty());
}

TEST_CASE("P12: a cursor that would fail at the commit is closed with its frame") {
  Receiver bob;
  CHECK(bob.outcomes({statement("a", "DECLARE c CURSOR WITH HOLD FOR SELECT 1/(g-5) FROM generate_series(1,9) AS g"),
                      statement("b", "SELECT 1")}) == std::vector<std::string>{"200", "ack", "ack"});
}

TEST_CASE("P12: a role without rights to the outbox ends with its frame, which is kept, also on a new connection") {
  Receiver bob;
  bob.database.run("CREATE ROLE " + bob.database.name());
  for (const char* const session : {"a", "b"}) {
    CHECK(bob.outcomes({statement(session, "SET ROLE " + bob.database.name())}) ==
          std::vector<std::string>{"200", "ack"});
  }
  CHECK(bob.manager.getStats().pending == 2);
  bob.database.run("DROP ROLE " + bob.database.name());
}

TEST_CASE("P12: a handler that deallocates prepared statements, the first or a later one, harms no frame") {
  Receiver bob;
  for (const char* const session : {"a", "b"}) {
    for (const char* const type : {"test", "refused"}) {
      const std::string name = std::string(session) + type;
      CHECK(bob.outcomes({statement(name, "DEALLOCATE ALL", type), statement(name + "-next", "SELECT 1")}) ==
            std::vector<std::string>{"200", type == std::string("test") ? "ack" : "term", "ack"});
    }
  }
}

TEST_CASE("P12: what a handler refuses after it took the connection's statements or locks away stops no other frame") {
  Receiver bob;
  std::string broken;
  SUBCASE("statements") {
    broken = "DEALLOCATE ALL";
  }
  SUBCASE("statements, and an error") {
    broken = "DEALLOCATE ALL;SELECT 1/0";
  }
  SUBCASE("locks") {
    broken = "SELECT pg_advisory_unlock_all()";
  }
  const std::vector<std::string> found =
      bob.outcomes({statement("a", "SELECT 1"), statement("b", broken, "refused"), statement("c", "SELECT 1")});
  REQUIRE(found.size() == 4);
  CHECK(found[3] == "ack");
  CHECK(bob.effects() == "a-1,c-1");
  // Other processes see that this one lives.
  CHECK(bob.database.run("SELECT count(*) FROM ackbox.owners WHERE NOT ackbox.lives(id)") == "0");
  CHECK(bob.database.run("SELECT count(*) FROM ackbox.owners") == "1");
}

TEST_CASE("P12: a frame whose handler has the server end the connection is handled twice, and stops no other frame") {
  Receiver bob;
  bob.database.run("CREATE SEQUENCE tries");
  CHECK(bob.outcomes({statement("a", "SELECT 1"),
                      statement("b", "SELECT nextval('tries'),pg_terminate_backend(pg_backend_pid())"),
                      statement("c", "SELECT 1")}) == std::vector<std::string>{"200", "ack", "nack", "ack"});
  CHECK(bob.database.run("SELECT last_value FROM tries") == "2");
  CHECK(bob.effects() == "a-1,c-1");
}

TEST_CASE("P12: a connection whose end shows only behind the handler is that handler's, too") {
  Receiver bob;
  bob.database.run("CREATE SEQUENCE tries");
  bob.database.run(
      "CREATE FUNCTION ending() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.data='end-1' THEN PERFORM "
      "nextval('tries'),pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$");
  bob.database.run(
      "CREATE CONSTRAINT TRIGGER ending AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
      "FUNCTION ending()");
  CHECK(bob.outcomes({statement("a", "SELECT 1"), statement("end", "SELECT 1"), statement("c", "SELECT 1")}) ==
        std::vector<std::string>{"200", "ack", "nack", "ack"});
  CHECK(bob.database.run("SELECT last_value FROM tries") == "2");
  CHECK(bob.effects() == "a-1,c-1");
}

TEST_CASE("P4: what handlers enqueue by SQL and by their transaction to one session has numbers without a gap") {
  Receiver bob;
  const std::string enqueue = "SELECT ackbox.enqueue('default','replies','test','{}')";
  CHECK(bob.outcomes({statement("a", enqueue), statement("b", enqueue, "replying twice"),
                      statement("c", "SELECT 1")}) == std::vector<std::string>{"200", "ack", "ack", "ack"});
  CHECK(bob.database.run("SELECT string_agg(sequence::text,',' ORDER BY id) FROM ackbox.outbox") == "1,2,3,4,5,6");
  CHECK(OutboxReader(bob.manager).verify().findings.empty());
}

TEST_CASE("P12: a handler's temporary tables end with its frame, whatever their names") {
  Receiver bob;
  std::string made;
  SUBCASE("of a type") {
    made = "CREATE TEMP TABLE text(a int)";
  }
  SUBCASE("of a type, as a domain") {
    made = "CREATE DOMAIN pg_temp.bytea AS pg_catalog.text";
  }
  SUBCASE("whose rows the commit may not delete") {
    made =
        "CREATE TEMP TABLE parents(id int PRIMARY KEY) ON COMMIT DELETE ROWS; CREATE TEMP TABLE children(id int "
        "REFERENCES parents) ON COMMIT DELETE ROWS; INSERT INTO parents VALUES(1)";
  }
  CHECK(bob.outcomes({statement("a", made), statement("b", "SELECT 1")}).back() == "ack");
  CHECK(bob.outcomes({statement("c", "SELECT 1")}) == std::vector<std::string>{"200", "ack"});
  CHECK(bob.manager.enqueue("s", "test", "1").accepted());
  CHECK(bob.outcomes({statement("d", "CREATE TEMP TABLE parents(id int); INSERT INTO parents VALUES(1)")}).back() ==
        "ack");
}

TEST_CASE("P12: functions of the application with names of the server's own break no frame") {
  Receiver bob;
  bob.database.run(
      "CREATE FUNCTION format(text,name,name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$");
  bob.database.run(
      "CREATE TABLE parents(id int PRIMARY KEY); CREATE TABLE children(id int REFERENCES parents DEFERRABLE INITIALLY "
      "DEFERRED)");
  CHECK(bob.outcomes({statement("a", "SELECT 1")}) == std::vector<std::string>{"200", "ack"});
}

TEST_CASE("P5: a result that a handler has not read is dropped, and a COMMIT that it has not read is noticed") {
  Receiver bob;
  CHECK(bob.outcomes({statement("a", "a result that is not read"), statement("b", "SELECT 1")}) ==
        std::vector<std::string>{"200", "ack", "ack"});
  const std::vector<std::string> found = bob.outcomes({statement("c", "a COMMIT that is not read")});
  REQUIRE(found.size() == 2);
  CHECK(found[1] == "nack");
  CHECK(bob.outcomes({statement("d", "SELECT 1")})[1] == "ack");
  CHECK(OutboxReader(bob.manager).verify().findings.empty());
}

TEST_CASE("P12: what a handler sets on the connection ends with its frame, kept or not") {
  Receiver bob;
  const std::string setAll =
      "SET app.tenant='a'; SET synchronous_commit=off; SET statement_timeout=1234; SET search_path=pg_catalog,public; "
      "SET enable_indexscan=off; SET lock_timeout=7; SET CONSTRAINTS ALL IMMEDIATE; SET bytea_output=escape; LISTEN a; "
      "SET ROLE pg_read_all_data; SET "
      "SESSION "
      "AUTHORIZATION pg_read_all_data";
  const std::string look =
      "INSERT INTO effects SELECT concat_ws('|',current_setting('app.tenant',true),"
      "current_setting('synchronous_commit'),current_setting('statement_timeout'),current_setting('enable_indexscan'),"
      "current_setting('bytea_output'),current_setting('search_path'),current_user=session_user,(SELECT count(*) FROM "
      "pg_listening_channels()))";
  const auto type = [](bool isKept) { return isKept ? "test" : "refused"; };
  const std::string row = "|on|0|on|hex|\"$user\", public|t|0";
  for (const bool isKept : {true, false}) {
    bob.database.run("TRUNCATE effects");
    const std::string name = isKept ? "kept" : "undone";
    CHECK(bob.outcomes({statement(name, setAll, type(isKept)), statement(name + "-same", look)}) ==
          std::vector<std::string>{"200", isKept ? "ack" : "term", "ack"});
    CHECK(bob.outcomes({statement(name + "-next", look)}).back() == "ack");
    CHECK(bob.database.run("SELECT count(*)||min(data)||max(data) FROM effects WHERE data LIKE '%|%'") ==
          "2" + row + row);
  }
}

TEST_CASE("P5: a deferred constraint stays deferred for the next frame of a request") {
  Receiver bob;
  bob.database.run(
      "CREATE TABLE parents(id integer PRIMARY KEY); CREATE TABLE children(parent integer REFERENCES parents "
      "DEFERRABLE INITIALLY DEFERRED)");
  const std::string both = "INSERT INTO children VALUES(%); INSERT INTO parents VALUES(%)";
  const auto with = [&](const std::string& value) {
    std::string text = both;
    for (std::size_t place = text.find('%'); place != std::string::npos; place = text.find('%')) {
      text.replace(place, 1, value);
    }
    return text;
  };
  CHECK(bob.outcomes({statement("a", with("1")), statement("b", "INSERT INTO children VALUES(9)"),
                      statement("c", with("2"))}) == std::vector<std::string>{"200", "ack", "nack", "ack"});
  CHECK(bob.database.run("SELECT count(*) FROM children") == "2");
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
