// Goal: the receiver's side of memory: a sender whose store went back is refused whatever the session, an id with other
// data is refused where it is remembered, and the answer says which store it is of and with which frame each session
// stands. Also what a request's own headers bring: its version and its trace.
// Method: requests as bytes, encoded by the sender's own encoder, against a real file.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_memory_test {
namespace {

using nlohmann::json;

OutboundFrame frameOf(const std::string& session, std::uint64_t sequence, const std::string& id,
                      const std::string& data = "1") {
  OutboundFrame frame = testing::outboundFrame(session, sequence, data == "\"later\"" ? "later" : "test", data);
  frame.messageId = id;
  frame.previousSequence = sequence == 0 ? 0 : sequence - 1;
  return frame;
}

struct Receiver {
  Receiver() { open(); }
  ~Receiver() { close(); }
  void open() {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.deferred.handler = [this](DeferredFrame frame) {
      const std::scoped_lock lock(mutex);
      deferred.push_back(std::move(frame));
    };
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          heard.push_back(frame);
          return frame.type == "later" ? HandlerResult::defer() : HandlerResult::ack();
        },
        inbound);
  }
  void close() {
    {
      const std::scoped_lock lock(mutex);
      deferred.clear();
    }
    handler.reset();
    manager.reset();
  }

  InboundResponse post(const std::vector<OutboundFrame>& frames, std::uint64_t epoch = 1,
                       const InboundRequest& headers = {}) {
    SendRequest request = testing::sendRequest(frames);
    request.origin = "store-a";
    request.epoch = epoch;
    InboundRequest inbound = testing::inboundRequest(request);
    inbound.version = headers.version;
    inbound.traceparent = headers.traceparent;
    return testing::answerTo(*handler, std::move(inbound));
  }
  /// `outcome`, or `outcome code`, of the only frame.
  std::string say(const OutboundFrame& frame, std::uint64_t epoch = 1) {
    const json result = json::parse(post({frame}, epoch).body)["results"][0];
    return result["outcome"].get<std::string>() + (result.contains("duplicate") ? " duplicate" : "") +
           (result.contains("code") ? " " + result["code"].get<std::string>() : "");
  }

  testing::TempDir dir;
  std::optional<OutboxManager> manager;
  std::vector<InboundFrame> heard;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<DeferredFrame> deferred;
  std::optional<InboundHandler> handler;
};

TEST_CASE("P3: behind repeated frames one is taken only if it follows the frame that was accepted last") {
  Receiver bob;
  const auto outcomes = [](const InboundResponse& response) {
    const json document = json::parse(response.body);
    std::string found;
    for (const json& result : document["results"]) {
      found += (found.empty() ? "" : ", ") + result["outcome"].get<std::string>() +
               (result.contains("duplicate") ? " duplicate" : "") +
               (result.contains("code") ? " " + result["code"].get<std::string>() : "");
    }
    return found;
  };
  bob.post({frameOf("s", 1, "a"), frameOf("s", 2, "b"), frameOf("s", 3, "c")});
  SUBCASE("the last is missing, which may be another file's: the sender is to see it first") {
    OutboundFrame fourth = frameOf("s", 4, "d2");
    fourth.previousSequence = 2;
    const InboundResponse response = bob.post({frameOf("s", 1, "a2"), frameOf("s", 2, "b2"), fourth});
    CHECK(outcomes(response) == "ack duplicate, ack duplicate, nack held");
    CHECK(json::parse(response.body)["sessions"][0]["acceptedid"] == "c");
    // It has seen it, and passes it all the same.
    CHECK(outcomes(bob.post({fourth})) == "ack");
  }
  SUBCASE("the last is among them") {
    CHECK(outcomes(bob.post({frameOf("s", 2, "b"), frameOf("s", 3, "c"), frameOf("s", 4, "d")})) ==
          "ack duplicate, ack duplicate, ack");
  }
  SUBCASE("the sender knows that it was accepted") {
    CHECK(outcomes(bob.post({frameOf("s", 1, "a"), frameOf("s", 4, "d")})) == "ack duplicate, ack");
  }
  SUBCASE("the last is among them, and is another file's") {
    CHECK(outcomes(bob.post({frameOf("s", 2, "b2"), frameOf("s", 3, "c2"), frameOf("s", 4, "d2")})) ==
          "ack duplicate, term stale-epoch, nack held");
  }
  CHECK(bob.heard.size() <= 4);
}

TEST_CASE("An answer says which store it is of, how often that was opened, and which frame a session stands at") {
  Receiver bob;
  const json first = json::parse(bob.post({frameOf("s", 1, "a"), frameOf("s", 2, "b"), frameOf("t", 1, "c")}).body);
  CHECK(first["store"] == bob.manager->origin());
  CHECK(first["storeepoch"] == "1");
  CHECK(first["sessions"][0] == json({{"id", "s"}, {"accepted", "2"}, {"acceptedid", "b"}, {"settled", "2"}}));
  CHECK(first["sessions"][1]["acceptedid"] == "c");
  bob.close();
  bob.open();
  // Whatever becomes of the frame.
  const json later = json::parse(bob.post({frameOf("s", 9, "x")}).body);
  CHECK(later["storeepoch"] == "2");
  CHECK(later["results"][0]["code"] == "out-of-sequence");
  CHECK(later["sessions"][0]["accepted"] == "2");
  CHECK(later["sessions"][0]["acceptedid"] == "b");
}

TEST_CASE(
    "An older epoch of a sender's store is refused in each of its sessions, and counted; frames outside are not") {
  Receiver bob;
  CHECK(bob.say(frameOf("s", 1, "a"), 4) == "ack");
  CHECK(bob.say(frameOf("t", 1, "b"), 3) == "term stale-epoch");
  CHECK(bob.say(frameOf("", 0, "c"), 3) == "ack");
  CHECK(bob.say(frameOf("t", 1, "b"), 4) == "ack");
  CHECK(bob.say(frameOf("t", 2, "d"), 5) == "ack");
  bob.close();
  bob.open();
  // Remembered in the file, and not by the session that is asked about alone.
  CHECK(bob.say(frameOf("s", 2, "e"), 4) == "term stale-epoch");
  CHECK(bob.say(frameOf("s", 2, "e"), 5) == "ack");
  CHECK(bob.manager->getStats().staleEpochs == 2);
}

TEST_CASE("A number that was another frame's is refused as the sender's going back, where it is remembered") {
  Receiver bob;
  CHECK(bob.say(frameOf("s", 1, "a")) == "ack");
  CHECK(bob.say(frameOf("s", 1, "x")) == "term stale-epoch");
  CHECK(bob.say(frameOf("s", 2, "b", "\"later\"")) == "defer");
  CHECK(bob.say(frameOf("s", 3, "c")) == "defer");
  // The newest of the session, and each one that waits.
  CHECK(bob.say(frameOf("s", 2, "x")) == "term stale-epoch");
  CHECK(bob.say(frameOf("s", 3, "x")) == "term stale-epoch");
  CHECK(bob.say(frameOf("s", 2, "b", "\"later\"")) == "defer duplicate");
  CHECK(bob.manager->getStats().staleEpochs == 3);
  // The limit: of what is neither, only the number is known, and the answer names the frame that it stands at.
  CHECK(bob.say(frameOf("s", 1, "x")) == "ack duplicate");
  CHECK(bob.manager->getStats().idConflicts == 0);
}

TEST_CASE("An id with other data is id-conflict, where it is remembered, and takes no effect") {
  Receiver bob;
  CHECK(bob.say(frameOf("s", 1, "a", "1")) == "ack");
  CHECK(bob.say(frameOf("s", 1, "a", "2")) == "term id-conflict");
  CHECK(bob.say(frameOf("s", 1, "a", "1")) == "ack duplicate");
  // Outside sessions: for as long as the id is remembered.
  CHECK(bob.say(frameOf("", 0, "u", "1")) == "ack");
  CHECK(bob.say(frameOf("", 0, "v", "1")) == "ack");
  CHECK(bob.say(frameOf("", 0, "u", "2")) == "term id-conflict");
  OutboundFrame otherType = frameOf("", 0, "u", "1");
  otherType.type = "another";
  CHECK(bob.say(otherType) == "term id-conflict");
  CHECK(bob.say(frameOf("", 0, "u", "1")) == "ack duplicate");
  // While it waits.
  CHECK(bob.say(frameOf("s", 2, "b", "\"later\"")) == "defer");
  CHECK(bob.say(frameOf("s", 3, "c", "1")) == "defer");
  OutboundFrame other = frameOf("s", 2, "b", "2");
  CHECK(bob.say(other) == "term id-conflict");
  CHECK(bob.manager->getStats().idConflicts == 4);
  CHECK(bob.heard.size() == 4);
  const InboundResponse refused = bob.post({frameOf("", 0, "u", "2")});
  CHECK(refused.status == 422);
}

TEST_CASE("A conflict in a batch stops its session, and no other") {
  Receiver bob;
  CHECK(bob.say(frameOf("s", 1, "a")) == "ack");
  const json answer =
      json::parse(bob.post({frameOf("s", 1, "a", "2"), frameOf("s", 2, "b"), frameOf("t", 1, "c")}).body);
  CHECK(answer["results"][0]["code"] == "id-conflict");
  CHECK(answer["results"][1]["code"] == "held");
  CHECK(answer["results"][2]["outcome"] == "ack");
}

TEST_CASE("A request of another version is refused whoever sends it, and nothing of it is read") {
  Receiver bob;
  InboundRequest headers;
  headers.version = "2";
  const InboundResponse refused = bob.post({frameOf("s", 1, "a")}, 1, headers);
  CHECK(refused.status == 415);
  CHECK(json::parse(refused.body)["versions"] == json::array({"1"}));
  CHECK(bob.heard.empty());
  headers.version = "1.3";
  CHECK(bob.post({frameOf("s", 1, "a")}, 1, headers).status == 200);
}

TEST_CASE("The handler is given where a frame's trace began, and the hop that brought it") {
  const std::string began = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string hop = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
  Receiver bob;
  OutboundFrame traced = frameOf("s", 1, "a");
  traced.traceparent = began;
  InboundRequest headers;
  headers.traceparent = hop;
  bob.post({traced, frameOf("s", 2, "b")}, 1, headers);
  REQUIRE(bob.heard.size() == 2);
  CHECK(bob.heard[0].traceparent == began);
  CHECK(bob.heard[0].hopTraceparent == hop);
  // It began with the hop.
  CHECK(bob.heard[1].traceparent == hop);
  CHECK(bob.heard[1].hopTraceparent == hop);
  headers.traceparent = "00-nonsense";
  bob.post({frameOf("s", 3, "c")}, 1, headers);
  CHECK(bob.heard[2].traceparent.empty());
  CHECK(bob.heard[2].hopTraceparent.empty());
}

}  // namespace
}  // namespace ackbox::inbound_memory_test
