// Goal: P5 and P6 at the receiver: a frame takes effect once, in order, together with its mark and its replies.
// Method: requests as bytes, encoded by the sender's own encoder, against a real file; the handler writes a real table.

#include "ackbox/inbound_handler.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_handler_test {
namespace {

using nlohmann::json;

OutboundFrame outbound(const std::string& session, std::uint64_t sequence, std::uint64_t previous,
                       const std::string& data = "{}") {
  OutboundFrame frame = testing::outboundFrame(session, sequence, "test.event", data);
  frame.previousSequence = previous;
  frame.enqueuedAt = WallTime(std::chrono::milliseconds(1'700'000'000'000));
  return frame;
}

/// An agent that writes every frame's data into table `effects`, and does what the data says.
struct Receiver {
  Receiver() {
    options.agent = "urn:agent:bob";
    options.clock = clock;
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    reader.emplace(dir.file("bob.db").string(), SQLite::OPEN_READWRITE);
    reader->exec("CREATE TABLE effects(id INTEGER PRIMARY KEY, data TEXT)");
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction& transaction) { return act(frame, transaction); },
        InboundOptions{.allowAnonymous = true,
                       .onHandlerError = [this](const InboundFrame&, std::string_view) { ++handlerErrors; }});
  }

  HandlerResult act(const InboundFrame& frame, InboundTransaction& transaction) {
    if (frame.data == "\"fail\"" && failing) {
      failing(transaction.database());
      return HandlerResult::notNow("it failed");
    }
    SQLite::Statement insert(transaction.database(), "INSERT INTO effects(data) VALUES (?)");
    insert.bind(1, frame.data);
    insert.exec();
    ++calls;
    if (frame.data == "\"reply\"") {
      Frame reply;
      reply.session = frame.session;
      reply.type = "test.reply";
      reply.data = "1";
      transaction.enqueue(reply);
    }
    if (frame.data == "\"throw\"") {
      Frame reply;
      reply.type = "test.reply";
      transaction.enqueue(reply);
      throw std::runtime_error("secret detail");
    }
    if (frame.data == "\"reject\"") {
      return HandlerResult::reject("no such order", "no-order");
    }
    if (frame.data == "\"other\"") {
      return HandlerResult::reject("ask carol", "wrong-audience");
    }
    if (frame.data == "\"held\"") {
      HandlerResult made = HandlerResult::notNow();
      made.code = "held";
      return made;
    }
    if (frame.data == "\"later\"") {
      return HandlerResult::notNow("busy", std::chrono::milliseconds(1500));
    }
    if (frame.data == "\"commit\"") {
      transaction.database().exec("COMMIT");
    }
    if (frame.data == "\"rollback\"") {
      transaction.database().exec("ROLLBACK");
    }
    if (frame.data == "\"unsync\"") {
      transaction.database().exec("ROLLBACK; PRAGMA synchronous=OFF");
    }
    synchronous = transaction.database().execAndGet("PRAGMA synchronous").getInt();
    return HandlerResult::ack("{\"seen\":true}");
  }

  InboundResponse post(const std::vector<OutboundFrame>& frames, const std::string& audience = "",
                       std::uint64_t epoch = 1) {
    SendRequest request = testing::sendRequest(frames);
    request.peerAgent = audience;
    request.epoch = epoch;
    return testing::answerTo(*handler, testing::inboundRequest(request));
  }
  InboundResponse post(const std::string& contentType, const std::string& body, const std::string& webhookId = "w") {
    return testing::answerTo(*handler, {contentType, body, webhookId});
  }
  std::vector<std::string> effects() {
    std::vector<std::string> found;
    SQLite::Statement query(*reader, "SELECT data FROM effects ORDER BY id");
    while (query.executeStep()) {
      found.push_back(query.getColumn(0).getString());
    }
    return found;
  }

  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  OutboxOptions options;
  std::optional<OutboxManager> manager;
  std::optional<SQLite::Database> reader;
  std::optional<InboundHandler> handler;
  int calls = 0;
  int synchronous = 0;
  int handlerErrors = 0;
  std::function<void(SQLite::Database&)> failing;
};

void insertMuch(SQLite::Database& database) {
  database.exec("INSERT INTO effects(data) VALUES(zeroblob(10000000))");
}

/// SQLite lets the file grow no more while `insertMuch` runs.
void fillDisk(SQLite::Database& database) {
  struct Limit {
    explicit Limit(SQLite::Database& file) : limited(file) { limited.execAndGet("PRAGMA max_page_count=1"); }
    ~Limit() { limited.execAndGet("PRAGMA max_page_count=1073741823"); }
    SQLite::Database& limited;
  };
  const Limit limit(database);
  insertMuch(database);
}

void interrupt(SQLite::Database& database) {
  sqlite3_progress_handler(
      database.getHandle(), 1, [](void*) { return 1; }, nullptr);
  const std::unique_ptr<sqlite3, void (*)(sqlite3*)> end(
      database.getHandle(), [](sqlite3* connection) { sqlite3_progress_handler(connection, 0, nullptr, nullptr); });
  insertMuch(database);
}

TEST_CASE("P8: what SQLite undoes for want of the disk, or when it is interrupted, is not charged to the frame") {
  Receiver bob;
  int status = 503;
  SUBCASE("the disk is full") {
    bob.failing = fillDisk;
    status = 507;
  }
  SUBCASE("SQLite is interrupted") {
    bob.failing = interrupt;
  }
  SUBCASE("the handler says nothing of it") {
    bob.failing = [](SQLite::Database& database) {
      try {
        interrupt(database);
      } catch (const SQLite::Exception&) {
        // It goes on.
      }
    };
  }
  SUBCASE("the handler throws something else") {
    bob.failing = [](SQLite::Database& database) {
      try {
        interrupt(database);
      } catch (const SQLite::Exception&) {
        throw std::runtime_error("no luck");
      }
    };
  }
  const InboundResponse answer = bob.post({outbound("s", 1, 0), outbound("t", 1, 0, "\"fail\"")});
  CHECK(answer.status == status);
  CHECK(answer.retryAfterSeconds > 0);
  CHECK(bob.handlerErrors == 0);
  CHECK(bob.effects().empty());
  bob.failing = nullptr;
  const json ack = json::parse(bob.post({outbound("s", 1, 0), outbound("t", 1, 0, "\"fail\"")}).body);
  CHECK(ack["results"][0]["outcome"] == "ack");
  CHECK(ack["results"][1]["outcome"] == "ack");
  CHECK(bob.effects().size() == 2);
}

TEST_CASE("P1: a handler that undoes its transaction and has no commit synced any more does so for itself only") {
  Receiver bob;
  CHECK(json::parse(bob.post({outbound("s", 1, 0, "\"unsync\"")}).body)["results"][0]["outcome"] != "ack");
  CHECK(bob.synchronous == 0);
  CHECK(json::parse(bob.post({outbound("t", 1, 0)}).body)["results"][0]["outcome"] == "ack");
  CHECK(bob.synchronous == 2);
}

TEST_CASE("P5: effect, mark and reply commit together, before the ACK") {
  Receiver bob;
  const InboundResponse response = bob.post({outbound("s", 1, 0, "\"reply\"")});
  CHECK(response.status == 200);
  const json ack = json::parse(response.body);
  CHECK(ack["results"][0]["outcome"] == "ack");
  CHECK(ack["results"][0]["result"]["seen"] == true);
  CHECK(bob.effects() == std::vector<std::string>{"\"reply\""});
  const Stats stats = bob.manager->getStats();
  CHECK(stats.received == 1);
  CHECK(stats.pending == 1);
}

TEST_CASE("P6: a repeated frame is acknowledged as a duplicate and has no effect, however late") {
  Receiver bob;
  bob.post({outbound("s", 1, 0, "1")});
  bob.clock->advance(std::chrono::hours(24 * 400));
  const json ack = json::parse(bob.post({outbound("s", 1, 0, "1")}).body);
  CHECK(ack["results"][0]["outcome"] == "ack");
  CHECK(ack["results"][0]["duplicate"] == true);
  CHECK(bob.calls == 1);
  CHECK(bob.manager->getStats().duplicates == 1);
}

TEST_CASE("P4: a frame whose predecessor is missing is refused and says what was accepted") {
  Receiver bob;
  bob.post({outbound("s", 1, 0, "1")});
  const InboundResponse response = bob.post({outbound("s", 3, 2, "3")});
  const json ack = json::parse(response.body);
  CHECK(response.status == 422);
  CHECK(ack["results"][0]["outcome"] == "nack");
  CHECK(ack["results"][0]["code"] == "out-of-sequence");
  CHECK(ack["sessions"][0]["accepted"] == "1");
  CHECK(bob.effects() == std::vector<std::string>{"1"});
}

TEST_CASE("P4: a gap that the sender vouches for is passed and counted") {
  Receiver bob;
  bob.post({outbound("s", 1, 0, "1")});
  CHECK(bob.post({outbound("s", 4, 1, "4")}).status == 200);
  CHECK(bob.effects() == std::vector<std::string>{"1", "4"});
  CHECK(bob.manager->getStats().gaps == 2);
}

TEST_CASE("a throwing handler leaves no trace, harms no other frame and tells the peer nothing") {
  Receiver bob;
  const InboundResponse response = bob.post(
      {outbound("a", 1, 0, "1"), outbound("b", 1, 0, "\"throw\""), outbound("b", 2, 1, "2"), outbound("c", 1, 0, "3")});
  CHECK(response.status == 200);
  const json ack = json::parse(response.body);
  CHECK(ack["results"][0]["outcome"] == "ack");
  CHECK(ack["results"][1]["outcome"] == "nack");
  CHECK(ack["results"][2]["outcome"] == "nack");
  CHECK(ack["results"][2]["code"] == "held");
  CHECK(ack["results"][3]["outcome"] == "ack");
  CHECK(response.body.find("secret") == std::string::npos);
  CHECK(bob.effects() == std::vector<std::string>{"1", "3"});
  CHECK(bob.manager->getStats().pending == 0);
  CHECK(bob.post({outbound("b", 1, 0, "4")}).status == 200);
}

TEST_CASE("a blocking enqueue inside a handler is refused instead of waiting for itself, and the owner is told why") {
  Receiver bob;
  std::string told;
  InboundOptions options;
  options.allowAnonymous = true;
  options.onHandlerError = [&](const InboundFrame&, std::string_view what) { told = what; };
  bob.handler.emplace(
      *bob.manager,
      [&](const InboundFrame&, InboundTransaction&) {
        Frame frame;
        frame.type = "test.reply";
        bob.manager->enqueue(frame);
        return HandlerResult::ack();
      },
      options);
  CHECK(bob.post({outbound("s", 1, 0)}).status == 503);
  CHECK(told.find("transaction's enqueue") != std::string::npos);
}

TEST_CASE("a handler cannot say what only the receiver can: its code goes into the text") {
  Receiver bob;
  const json other = json::parse(bob.post({outbound("s", 1, 0, "\"other\"")}).body)["results"][0];
  CHECK(other["outcome"] == "term");
  CHECK(other["code"] == "rejected");
  CHECK(other["detail"] == "wrong-audience: ask carol");
  const json held = json::parse(bob.post({outbound("t", 1, 0, "\"held\"")}).body)["results"][0];
  CHECK(held["outcome"] == "nack");
  CHECK(held["code"] == "not-now");
  CHECK(held["detail"] == "held");
}

TEST_CASE("reject is term, not-now is nack with its delay, and both undo what was written") {
  Receiver bob;
  const InboundResponse rejected = bob.post({outbound("s", 1, 0, "\"reject\"")});
  CHECK(rejected.status == 422);
  CHECK(json::parse(rejected.body)["results"][0]["code"] == "no-order");
  const InboundResponse later = bob.post({outbound("s", 2, 0, "\"later\"")});
  CHECK(later.status == 503);
  CHECK(later.retryAfterSeconds == 2);
  CHECK(json::parse(later.body)["results"][0]["retryafterms"] == 1500);
  CHECK(bob.effects().empty());
}

TEST_CASE("a handler that ends the transaction is refused alone; the rest of the batch is kept") {
  for (const std::string deed : {"\"commit\"", "\"rollback\""}) {
    CAPTURE(deed);
    Receiver bob;
    const json ack =
        json::parse(bob.post({outbound("a", 1, 0, "1"), outbound("b", 1, 0, deed), outbound("c", 1, 0, "2")}).body);
    CHECK(ack["results"][0]["outcome"] == "ack");
    CHECK(ack["results"][1]["outcome"] == "nack");
    CHECK(ack["results"][2]["outcome"] == "ack");
    CHECK(bob.effects() == std::vector<std::string>{"1", "2"});
    CHECK(bob.manager->getStats().received == 2);
  }
}

TEST_CASE("a frame for another agent, or past its expiry, is refused for good") {
  Receiver bob;
  CHECK(json::parse(bob.post({outbound("s", 1, 0)}, "urn:agent:carol").body)["results"][0]["code"] == "wrong-audience");
  OutboundFrame frame = outbound("s", 1, 0);
  frame.expiresAt = bob.clock->wallNow() - std::chrono::seconds(1);
  CHECK(json::parse(bob.post({frame}, "urn:agent:bob").body)["results"][0]["code"] == "expired");
  CHECK(bob.calls == 0);
}

TEST_CASE(
    "P3 P5: a repeat that comes after its expiry is a duplicate, in a session and outside any, and has no effect") {
  for (const std::uint64_t sequence : {1U, 0U}) {
    CAPTURE(sequence);
    Receiver bob;
    OutboundFrame frame = outbound(sequence == 0 ? "" : "s", sequence, 0);
    frame.expiresAt = bob.clock->wallNow() + std::chrono::seconds(10);
    REQUIRE(bob.post({frame}).status == 200);
    bob.clock->advance(std::chrono::minutes(1));
    const json word = json::parse(bob.post({frame}).body)["results"][0];
    CHECK(word["outcome"] == "ack");
    CHECK(word["duplicate"] == true);
    CHECK(bob.calls == 1);
  }
}

TEST_CASE("P4: of an expired frame whose predecessor is missing, the missing one is told, and nothing is given up") {
  Receiver bob;
  bob.post({outbound("s", 1, 0)});
  OutboundFrame frame = outbound("s", 3, 2);
  frame.expiresAt = bob.clock->wallNow() - std::chrono::seconds(1);
  const json ack = json::parse(bob.post({frame}).body);
  CHECK(ack["results"][0]["code"] == "out-of-sequence");
  CHECK(ack["sessions"][0]["accepted"] == "1");
}

TEST_CASE("P5: a repeat with other data is a conflict, expired or not, and one of an older epoch is no duplicate") {
  Receiver bob;
  OutboundFrame frame = outbound("s", 1, 0, "1");
  frame.expiresAt = bob.clock->wallNow() + std::chrono::seconds(10);
  bob.post({frame}, "", 5);
  CHECK(json::parse(bob.post({frame}, "", 4).body)["results"][0]["code"] == "stale-epoch");
  frame.data = "2";
  CHECK(json::parse(bob.post({frame}, "", 5).body)["results"][0]["code"] == "id-conflict");
  bob.clock->advance(std::chrono::minutes(1));
  CHECK(json::parse(bob.post({frame}, "", 5).body)["results"][0]["code"] == "id-conflict");
  CHECK(bob.calls == 1);
}

TEST_CASE("P4: what follows a frame that was refused for its audience or its expiry is held, in its session only") {
  for (const bool isExpired : {true, false}) {
    CAPTURE(isExpired);
    Receiver bob;
    OutboundFrame refused = outbound("s", 1, 0);
    if (isExpired) {
      refused.expiresAt = bob.clock->wallNow();
    } else {
      refused.data = "\"reject\"";
    }
    const json ack = json::parse(bob.post({refused, outbound("s", 2, 1), outbound("t", 1, 0)}).body);
    CHECK(ack["results"][0]["outcome"] == "term");
    CHECK(ack["results"][1]["code"] == "held");
    CHECK(ack["results"][2]["outcome"] == "ack");
  }
}

TEST_CASE("a plain CloudEvents event without a sequence is deduplicated by source and id") {
  Receiver bob;
  const std::string body = R"({"specversion":"1.0","id":"e1","source":"urn:x","type":"t","data":7})";
  CHECK(bob.post("application/cloudevents+json", body).status == 200);
  const json again = json::parse(bob.post("application/cloudevents+json; charset=utf-8", body).body);
  CHECK(again["results"][0]["duplicate"] == true);
  CHECK(bob.effects() == std::vector<std::string>{"7"});
}

TEST_CASE("an older epoch means that the sender was restored: refused") {
  Receiver bob;
  bob.post({outbound("s", 1, 0)}, "", 5);
  CHECK(json::parse(bob.post({outbound("s", 2, 1)}, "", 4).body)["results"][0]["code"] == "stale-epoch");
}

TEST_CASE("P11: bytes that are no request get a problem document and change nothing") {
  Receiver bob;
  CHECK(bob.post("application/cloudevents+json", "not json").status == 400);
  CHECK(bob.post("application/cloudevents+json", std::string(200'000, '[')).status == 400);
  CHECK(bob.post("text/plain", "{}").status == 415);
  CHECK(bob.post("application/cloudevents-batch+json", "[]").status == 400);
  CHECK(bob.calls == 0);
}

}  // namespace
}  // namespace ackbox::inbound_handler_test
