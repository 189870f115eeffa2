// Goal: P2: a statement of any client enqueues in the client's transaction, and the message is delivered like any
// other. Method: `SELECT ackbox.enqueue` over libpq, committed and rolled back; a store that claims.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/wire.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace sql_enqueue_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

struct Sql {
  PostgresDatabase database;
  OutboxOptions options;
  store::postgres::PostgresStore store{database.location(), options};
  PostgresClient client{database.location()};
};

}  // namespace

TEST_CASE("P2: what a client's statement enqueues commits or rolls back with its transaction, and is delivered") {
  Sql sql;
  CHECK(sql.client.enqueue(R"('default','s','test','{"a":"é"}')") == "stored 1");
  sql.client.run("BEGIN");
  CHECK(sql.client.enqueue("'default','s','test','2'") == "stored 2");
  CHECK(sql.client.enqueue("'default','','test','3'") == "stored 0");
  sql.client.run("ROLLBACK");
  sql.client.run("BEGIN");
  CHECK(sql.client.enqueue("'default','s','test','4', id => 'mine', priority => 7") == "stored 2");
  sql.client.run("COMMIT");
  const store::NewRows fresh = sql.store.discovery().take(10);
  REQUIRE(fresh.rows.size() == 2);
  CHECK(fresh.sessions.at(0).priority == 7);
  const delivery::SessionClaim wanted{fresh.rows[0].session, {fresh.rows[0].key, fresh.rows[1].key}};
  sql.store.begin(false);
  const store::ClaimReply reply = sql.store.claims().claim({&wanted, 1});
  sql.store.commit();
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[0].frame.data == R"({"a":"é"})");
  CHECK(reply.messages[0].frame.messageId.size() == 36);
  CHECK(reply.messages[1].frame.messageId == "mine");
  const store::postgres::PostgresReader reader(sql.database.location(), sql.options);
  CHECK(reader.stats().enqueued == 2);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P2: a role with the rights that the documentation names enqueues, with a key too, and no other way in") {
  Sql sql;
  sql.database.run("DROP ROLE IF EXISTS shop");
  sql.database.run("CREATE ROLE shop");
  sql.database.run(R"sql(
GRANT USAGE ON SCHEMA ackbox TO shop;
GRANT SELECT ON ackbox.schema, ackbox.peers, ackbox.sessions, ackbox.session_states, ackbox.outbox,
  ackbox.idempotency_keys TO shop;
GRANT INSERT ON ackbox.sessions, ackbox.session_states, ackbox.outbox, ackbox.idempotency_keys, ackbox.counts TO shop;
GRANT UPDATE ON ackbox.sessions, ackbox.session_states, ackbox.idempotency_keys TO shop;
GRANT DELETE ON ackbox.idempotency_keys TO shop;
GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA ackbox TO shop;
)sql");
  sql.client.run("SET ROLE shop");
  CHECK(sql.client.enqueue("'default','s','test','1'") == "stored 1");
  CHECK(sql.client.enqueue("'default','s','test','2', idempotency_key => 'k', priority => 7") == "stored 2");
  CHECK(sql.client.enqueue("'default','s','test','2', idempotency_key => 'k'") == "duplicate 2");
  CHECK(sql.client.enqueue("'default','','test','3', id => 'mine'") == "stored 0");
  sql.client.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
  CHECK(sql.client.enqueue("'default','s','test','4'") == "stored 3");
  sql.client.run("COMMIT");
  CHECK(sql.database.run("SELECT has_table_privilege('shop','ackbox.outbox','UPDATE,DELETE')") == "f");
  sql.client.run("RESET ROLE");
  sql.database.run("DROP OWNED BY shop");
  sql.database.run("DROP ROLE shop");
}

TEST_CASE("P5: a key or an id makes a statement's enqueue happen once, and a wrong one is refused") {
  Sql sql;
  CHECK(sql.client.enqueue("'default','s','test','1', idempotency_key => 'k'") == "stored 1");
  CHECK(sql.client.enqueue("'default','t','test','1', idempotency_key => 'k'") == "duplicate 1");
  CHECK(sql.client.enqueue("'default','s','test','2', id => 'i'") == "stored 2");
  CHECK(sql.client.enqueue("'default','s','test','2', id => 'i', idempotency_key => 'l'") == "duplicate 2");
  CHECK(sql.client.enqueue("'default','s','test','3', idempotency_key => 'l'") == "stored 3");
  CHECK(sql.client.enqueue("'nobody','s','test','1'") == "22023");
  CHECK(sql.client.enqueue("'default','s','test','no JSON'") == "22P02");
  CHECK(sql.client.enqueue("'default','s','','1'") == "22023");
  sql.store.begin(true);
  REQUIRE(sql.store.addPeer(PeerOptions{.name = "other", .url = "http://other/"}, "{}"));
  sql.store.commit();
  CHECK(sql.client.enqueue("'other','s','test','1', idempotency_key => 'k'") == "stored 1");
  CHECK(sql.client.enqueue("'other','s','test','1', idempotency_key => 'k'") == "duplicate 1");
  // The store's own enqueue knows the key.
  Frame frame;
  frame.session = "s";
  frame.type = "test";
  frame.data = "1";
  frame.idempotencyKey = "k";
  sql.store.begin(true);
  CHECK(sql.store.outbox().enqueue(frame).status == EnqueueStatus::duplicate);
  CHECK_FALSE(sql.store.outbox().enqueue(frame).isConflict);
  frame.data = "2";
  CHECK(sql.store.outbox().enqueue(frame).isConflict);
  frame.idempotencyKey = "m";
  CHECK(sql.store.outbox().enqueue(frame).isNew());
  sql.store.commit();
  const auto isConflict = [&](const std::string& arguments) {
    return sql.client.run("SELECT is_conflict FROM ackbox.enqueue('default'," + arguments + ")");
  };
  CHECK(isConflict("'s','test','2', idempotency_key => 'm'") == "f");
  CHECK(isConflict("'s','test','3', idempotency_key => 'm'") == "t");
  CHECK(isConflict("'s','testing','2', idempotency_key => 'm'") == "t");
  CHECK(isConflict("'t','test','2', idempotency_key => 'm'") == "t");
  const store::postgres::PostgresReader reader(sql.database.location(), sql.options);
  CHECK(reader.stats().pending == 5);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P4: a statement in a transaction with an old snapshot is to be repeated where its number was given since") {
  Sql sql;
  CHECK(sql.client.enqueue("'default','s','test','1'") == "stored 1");
  const PostgresClient other(sql.database.location());
  other.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  other.run("SELECT 1 FROM ackbox.meta");
  CHECK(sql.client.enqueue("'default','s','test','2', id => 'gone'") == "stored 2");
  sql.store.begin(true);
  REQUIRE(sql.store.settles().ackById("gone"));
  sql.store.commit();
  CHECK(other.enqueue("'default','s','test','3'") == "40001");
  other.run("ROLLBACK");
  CHECK(other.enqueue("'default','s','test','3'") == "stored 3");
}

TEST_CASE("P4: a transaction with an old snapshot gets no number of a message that was superseded or redriven since") {
  Sql sql;
  CHECK(sql.client.enqueue("'default','s','test','1'") == "stored 1");
  const PostgresClient other(sql.database.location());
  other.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  other.run("SELECT 1 FROM ackbox.meta");
  Frame frame;
  frame.session = "s";
  frame.type = "test";
  frame.data = "2";
  sql.store.begin(true);
  SUBCASE("superseded") {
    frame.supersedeKey = "k";
    CHECK(sql.store.outbox().enqueue(frame).sequence == 2);
    CHECK(sql.store.outbox().enqueue(frame).sequence == 3);
  }
  SUBCASE("redriven") {
    frame.id = "two";
    CHECK(sql.store.outbox().enqueue(frame).sequence == 2);
    const auto change = [&](delivery::Transition transition) {
      return sql.store.deadLetters().change("two", transition, {}).receipt;
    };
    CHECK(change(delivery::Transition::fail).sequence == 2);
    CHECK(change(delivery::Transition::redrive).sequence == 3);
  }
  sql.store.commit();
  CHECK(other.enqueue("'default','s','test','3'") == "40001");
  other.run("ROLLBACK");
  CHECK(other.enqueue("'default','s','test','3'") == "stored 4");
}

TEST_CASE("P1 P2: a statement enqueues under every isolation, and its commit is synced where the role's are not") {
  Sql sql;
  std::uint64_t sequence = 0;
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    CAPTURE(isolation);
    sql.client.run("SET synchronous_commit=off");
    sql.client.run("BEGIN ISOLATION LEVEL " + isolation);
    CHECK(sql.client.enqueue("'default','s','test','1'") == "stored " + std::to_string(++sequence));
    CHECK(sql.client.run("SHOW synchronous_commit") == "on");
    CHECK(sql.client.enqueue("'default','s','test','2'") == "stored " + std::to_string(++sequence));
    CHECK(sql.client.run("COMMIT").empty());
    CHECK(sql.client.run("SHOW synchronous_commit") == "off");
  }
  CHECK(sql.store.discovery().take(10).rows.size() == sequence);
}

TEST_CASE("P3: a statement refuses each frame that an application's enqueue refuses, with the rule in its error") {
  Sql sql;
  const auto enqueued = [&](const Frame& frame) {
    const auto millisecondsOf = [](const auto& instant) {
      return instant ? std::to_string(instant->time_since_epoch().count()) : std::string();
    };
    const std::string priority = std::to_string(frame.priority);
    const std::string notBefore = millisecondsOf(frame.notBefore);
    const std::string expires = millisecondsOf(frame.expiresAt);
    const char* const values[] = {frame.session.c_str(),
                                  frame.type.c_str(),
                                  frame.data.c_str(),
                                  frame.id.c_str(),
                                  frame.idempotencyKey.c_str(),
                                  priority.c_str(),
                                  notBefore.c_str(),
                                  expires.c_str(),
                                  frame.traceparent.c_str(),
                                  frame.correlationId.c_str(),
                                  frame.resentOf.c_str()};
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(sql.client.connection.get(),
                     "SELECT status FROM ackbox.enqueue('default',$1,$2,$3,$4,$5,$6::integer,nullif($7,'')::bigint,"
                     "nullif($8,'')::bigint,$9,$10,$11)",
                     11, nullptr, values, nullptr, nullptr, 0),
        PQclear);
    if (const char* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE)) {
      // The text says which rule.
      return std::string(code) +
             (std::string(PQresultErrorMessage(result.get())).find(" must ") != std::string::npos ? " must" : "");
    }
    return std::string(PQgetvalue(result.get(), 0, 0));
  };
  const auto many = [](std::size_t count, const std::string& text) {
    std::string made;
    for (std::size_t number = 0; number < count; ++number) {
      made += text;
    }
    return made;
  };
  std::vector<Frame> frames;
  const auto vary = [&](const auto& change) {
    Frame frame;
    frame.session = "s";
    frame.type = "test";
    frame.data = "1";
    change(frame);
    frames.push_back(frame);
  };
  // 127 to 257 bytes, also of two bytes each, and each class of characters.
  std::vector<std::string> texts = {"", "a b", "\x01", "\n", "\x1f", "\x7f", "\u0085", "\u009f", "\u00a0", "~!"};
  for (const std::size_t bytes : {127U, 128U, 129U, 255U, 256U, 257U}) {
    texts.push_back(many(bytes, "x"));
    texts.push_back(many(bytes / 2, "é") + many(bytes % 2, "x"));
  }
  for (const std::string& text : texts) {
    for (std::string Frame::*const member : {&Frame::session, &Frame::type, &Frame::id, &Frame::idempotencyKey,
                                             &Frame::traceparent, &Frame::correlationId, &Frame::resentOf}) {
      vary([&](Frame& frame) { frame.*member = text; });
    }
  }
  for (const int priority : {0, 9, 10, 255}) {
    vary([&](Frame& frame) { frame.priority = static_cast<std::uint8_t>(priority); });
  }
  for (const int later : {-1, 0, 1}) {
    vary([&](Frame& frame) {
      frame.notBefore = WallTime(std::chrono::milliseconds(1'000));
      frame.expiresAt = *frame.notBefore + std::chrono::milliseconds(later);
    });
  }
  for (const std::size_t depth : {61U, 62U, 63U, 1000U}) {
    vary([&](Frame& frame) { frame.data = many(depth, "[") + many(depth, "]"); });
    vary([&](Frame& frame) { frame.data = many(depth, R"({"a\"]":)") + "1" + many(depth, "}"); });
    vary([&](Frame& frame) { frame.data = "[" + many(depth, R"({"a":[]},)") + R"("\\","[[\"{"])"; });
    vary([&](Frame& frame) { frame.data = "\"" + many(depth, "[{") + "\""; });
  }
  for (const Frame& frame : frames) {
    const std::optional<std::string> problem = protocol::frameProblem(frame);
    const std::string found = enqueued(frame);
    CAPTURE(frame.session + "|" + frame.type + "|" + frame.id + "|" + frame.data);
    const std::string stored = found == "duplicate" ? "duplicate" : "stored";
    CHECK(found == (problem ? "22023 must" : stored));
  }
  CHECK(sql.client.enqueue("'default','s',NULL,'1'") == "22023");
  CHECK(sql.client.enqueue("'default','s','test',NULL") == "22023");
  CHECK(sql.client.enqueue("'default','s','test','\"'||repeat('x',67108863)||'\"'") == "22023");
}

}  // namespace sql_enqueue_test
