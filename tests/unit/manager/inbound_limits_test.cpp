// Goal: P11: what a peer with a key can make the file keep is bounded: its sessions, stores, single frames and waiting
// frames, in number and in bytes; others are not hindered by it, and neither are its own sessions that are known.
// Method: requests as bytes against a real file with small limits; every gauge is compared with the rows by `verify`.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <algorithm>
#include <chrono>

#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_limits_test {
namespace {

using nlohmann::json;

OutboundFrame outbound(const std::string& session, std::uint64_t sequence, const std::string& data = "{}") {
  return testing::outboundFrame(session, sequence, "test", data);
}

/// Data of a frame that its handler defers.
std::string slow(std::size_t bytes = 6) {
  return "\"" + std::string(bytes - 2, 's') + "\"";
}

/// An agent that defers what a test calls slow.
struct Receiver {
  explicit Receiver(std::chrono::milliseconds stopTimeout = OutboxOptions().stopTimeout) {
    options.agent = "urn:agent:bob";
    options.stopTimeout = stopTimeout;
    options.clock = clock;
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    inbound.allowAnonymous = true;
    inbound.onLimit = [this](const InboundLimitEvent& event) {
      told.push_back(event.source + " " + std::string(toString(event.limit)));
    };
  }
  void open() {
    handler.emplace(
        *manager,
        [](const InboundFrame& frame, InboundTransaction&) {
          return frame.data.starts_with("\"s") ? HandlerResult::defer() : HandlerResult::ack();
        },
        inbound);
  }

  json ask(const std::vector<OutboundFrame>& frames, const std::string& agent = "urn:agent:alice",
           const std::string& origin = "origin-1") {
    SendRequest request = testing::sendRequest(frames);
    request.agent = agent;
    request.origin = origin;
    return post(testing::inboundRequest(request));
  }
  json event(const std::string& id, const std::string& source = "urn:agent:alice") {
    return post({"application/cloudevents+json",
                 json{{"specversion", "1.0"}, {"id", id}, {"source", source}, {"type", "t"}, {"data", 7}}.dump(), "w"});
  }
  json post(InboundRequest request) {
    const InboundResponse response = testing::answerTo(*handler, std::move(request));
    // The events of the request's commit come after its answer, and before the next commit.
    static_cast<void>(manager->ack("nobody's"));
    return json::parse(response.body)["results"];
  }
  std::vector<InboundSenderStats> senders() const {
    return OutboxReader::open(dir.file("bob.db"), options).inboundSenders();
  }
  void checkSound() const {
    for (const Finding& finding : OutboxReader(*manager).verify().findings) {
      FAIL_CHECK(finding.table << " " << finding.row << ": " << finding.problem);
    }
  }

  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  OutboxOptions options;
  InboundOptions inbound;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;
  std::vector<std::string> told;
};

TEST_CASE("P11: a peer that makes up sessions is put off at its limit, its known ones and other peers are not") {
  Receiver bob;
  bob.inbound.limits.sessionsMax = 3;
  bob.open();
  for (const char* session : {"a", "b", "c"}) {
    CHECK(bob.ask({outbound(session, 1)})[0]["outcome"] == "ack");
  }
  const json refused = bob.ask({outbound("d", 1), outbound("d", 2), outbound("a", 2)});
  CHECK(refused[0]["outcome"] == "nack");
  CHECK(refused[0]["code"] == "limit-sessions");
  CHECK(refused[0]["retryafterms"] == 60'000);
  CHECK(refused[1]["code"] == "held");
  CHECK(refused[2]["outcome"] == "ack");
  CHECK(bob.ask({outbound("d", 1)}, "urn:agent:carol")[0]["outcome"] == "ack");
  // What belongs to no session needs no new one.
  CHECK(bob.event("e1")[0]["outcome"] == "ack");
  CHECK(bob.manager->getStats().refusedLimits == 1);
  CHECK(bob.senders().size() == 2);
  CHECK(bob.senders()[0].sessions == 3);
  bob.checkSound();
}

TEST_CASE("P11: a peer that is held to one session cannot fill the file with stores of made-up names") {
  Receiver bob;
  bob.inbound.limits.originsMax = 2;
  bob.open();
  for (int store = 0; store < 50; ++store) {
    const json result = bob.ask({outbound("s", 1)}, "urn:agent:alice", "origin-" + std::to_string(store));
    CHECK(result[0]["outcome"] == (store < 2 ? "ack" : "nack"));
    CHECK((store < 2 || result[0].value("code", "") == "limit-origins"));
  }
  CHECK(bob.senders()[0].origins == 2);
  CHECK(bob.senders()[0].sessions == 2);
  bob.checkSound();
}

TEST_CASE("P11: marks of single frames are bounded in number, and there is room again when they are old") {
  Receiver bob;
  bob.inbound.limits.marksMax = 2;
  bob.open();
  CHECK(bob.event("e1")[0]["outcome"] == "ack");
  CHECK(bob.event("e2")[0]["outcome"] == "ack");
  CHECK(bob.event("e3")[0]["code"] == "limit-marks");
  CHECK(bob.event("e1")[0]["duplicate"] == true);
  bob.clock->advance(bob.inbound.processedRetention + std::chrono::minutes(1));
  CHECK(bob.event("e3")[0]["outcome"] == "ack");
  CHECK(bob.senders()[0].marks == 1);
  bob.checkSound();
}

TEST_CASE("P11: long names count by their bytes, for each sender and for all together") {
  Receiver bob;
  bob.inbound.limits.bytesMax = 2'000;
  bob.inbound.limits.totalBytesMax = 3'000;
  bob.open();
  const auto longNamed = [](int number) {
    OutboundFrame frame = outbound(std::string(250, 'n') + std::to_string(number), 1);
    frame.messageId = "m";
    return frame;
  };
  int taken = 0;
  while (taken < 50 && bob.ask({longNamed(taken)})[0]["outcome"] == "ack") {
    ++taken;
  }
  CHECK(taken == 3);
  int senders = 0;
  while (senders < 50 &&
         bob.ask({longNamed(0)}, "urn:agent:made-up-" + std::to_string(senders))[0]["outcome"] == "ack") {
    ++senders;
  }
  CHECK(senders == 1);
  CHECK(bob.told == std::vector<std::string>{"urn:agent:alice bytes",
                                             "urn:agent:made-up-" + std::to_string(senders) + " totalBytes"});
  CHECK(bob.manager->getStats().inboundBytes < 4'000);
  bob.checkSound();
}

TEST_CASE("who is at a limit is told once a minute, and counted each time") {
  Receiver bob;
  bob.inbound.limits.marksMax = 1;
  bob.open();
  bob.event("e0");
  for (int round = 0; round < 5; ++round) {
    bob.event("e1");
  }
  CHECK(bob.told == std::vector<std::string>{"urn:agent:alice marks"});
  bob.clock->advance(std::chrono::minutes(1));
  bob.event("e1");
  CHECK(bob.told.size() == 2);
  CHECK(bob.manager->getStats().refusedLimits == 6);
}

TEST_CASE("P11: of thousands of senders at a limit as many as are remembered are told of in a minute, then others") {
  Receiver bob;
  bob.inbound.limits.bytesMax = 1;
  bob.inbound.limits.totalBytesMax = 1;
  bob.open();
  for (int sender = 0; sender < 1'100; ++sender) {
    bob.event("e", "urn:agent:" + std::to_string(sender));
  }
  CHECK(bob.told.size() == 1'024);
  bob.clock->advance(std::chrono::minutes(1));
  bob.event("e", "urn:agent:new");
  CHECK(bob.told.back().starts_with("urn:agent:new "));
}

/// A receiver of deferred frames that are never worked on.
struct DeferringReceiver : Receiver {
  // The handler's end does not wait for the frames that are kept: the clock stands still.
  DeferringReceiver() : Receiver(std::chrono::milliseconds(0)) {
    inbound.deferred.handler = [this](DeferredFrame frame) { kept.push_back(std::move(frame)); };
    inbound.deferred.concurrency = 1;
  }
  ~DeferringReceiver() { close(); }
  DeferringReceiver(const DeferringReceiver&) = delete;
  DeferringReceiver& operator=(const DeferringReceiver&) = delete;
  void close() {
    handler.reset();
    kept.clear();
  }
  std::size_t fill(const std::string& agent, std::size_t bytes) {
    std::size_t taken = 0;
    while (taken < 100 && ask({outbound("s", taken + 1, slow(bytes))}, agent)[0]["outcome"] == "defer") {
      ++taken;
    }
    return taken;
  }
  std::vector<DeferredFrame> kept;
};

TEST_CASE("P11: one sender fills its share of the inbox only: there is room for the next one, and the one after it") {
  DeferringReceiver bob;
  bob.inbound.deferred.framesMax = 20;
  bob.open();
  const std::size_t first = bob.fill("urn:agent:alice", 6);
  const std::size_t second = bob.fill("urn:agent:carol", 6);
  const std::size_t third = bob.fill("urn:agent:dora", 6);
  CHECK(first == 10);
  CHECK(second == 5);
  CHECK(third >= 2);
  CHECK(bob.ask({outbound("s", 11, slow())})[0]["code"] == "inbox-full");
  CHECK(bob.told.front() == "urn:agent:alice inbox");
  CHECK(bob.senders()[0].inbox == 10);
  bob.checkSound();
}

TEST_CASE("P11: the inbox is bounded in bytes, so that few long frames do not fill the disk") {
  DeferringReceiver bob;
  bob.inbound.deferred.bytesMax = 100'000;
  bob.open();
  CHECK(bob.fill("urn:agent:alice", 10'000) == 4);
  CHECK(bob.manager->getStats().inboxBytes == 40'000);
  CHECK(bob.fill("urn:agent:carol", 10'000) == 2);
  CHECK(bob.senders()[0].inboxBytes == 40'000);
  bob.checkSound();
}

TEST_CASE("P11: last words on deferred frames count as marks: a known session does not fill the file with them") {
  Receiver bob;
  bob.inbound.limits.marksMax = 2;
  bob.inbound.deferred.handler = [](DeferredFrame frame) {
    frame.commit([](InboundTransaction&) { return HandlerResult::reject("no"); });
  };
  bob.open();
  std::uint64_t sequence = 1;
  json result;
  for (; sequence < 10; ++sequence) {
    result = bob.ask({outbound("s", sequence, slow())})[0];
    if (result["outcome"] != "defer") {
      break;
    }
    while (bob.manager->getStats().inbox != 0) {
      std::this_thread::yield();
    }
  }
  CHECK(sequence == 3);
  CHECK(result["code"] == "inbox-full");
  CHECK(bob.senders()[0].marks == 2);
  bob.checkSound();
}

TEST_CASE("what a sender made the file keep is forgotten, whole or for one of its stores, and there is room again") {
  Receiver bob;
  bob.inbound.limits.originsMax = 3;
  bob.open();
  for (const char* origin : {"o1", "o2", "o3"}) {
    bob.ask({outbound("s", 1), outbound("t", 1)}, "urn:agent:alice", origin);
  }
  bob.ask({outbound("s", 1)}, "urn:agent:carol");
  bob.event("e1");
  CHECK(bob.ask({outbound("s", 1)}, "urn:agent:alice", "o4")[0]["code"] == "limit-origins");
  std::vector<InboundOriginStats> origins = OutboxReader(*bob.manager).inboundOrigins("urn:agent:alice");
  std::ranges::sort(origins, {}, &InboundOriginStats::origin);
  REQUIRE(origins.size() == 3);
  CHECK(origins[1].origin == "o2");
  CHECK(origins[1].sessions == 2);
  CHECK_FALSE(origins[1].isClosed);
  CHECK(OutboxReader(*bob.manager).inboundOrigins("urn:nobody").empty());
  const ForgetReport one = OutboxOperator(*bob.manager).forgetSender("urn:agent:alice", "o2");
  CHECK(one.sessions == 2);
  CHECK(one.origins == 1);
  CHECK(one.marks == 0);
  CHECK(bob.ask({outbound("s", 1)}, "urn:agent:alice", "o4")[0]["outcome"] == "ack");
  CHECK(bob.ask({outbound("s", 1)}, "urn:agent:alice", "o1")[0]["duplicate"] == true);
  const ForgetReport all = OutboxOperator(*bob.manager).forgetSender("urn:agent:alice");
  CHECK(all.sessions == 5);
  CHECK(all.origins == 3);
  CHECK(all.marks == 1);
  REQUIRE(bob.senders().size() == 1);
  CHECK(bob.senders()[0].source == "urn:agent:carol");
  CHECK(OutboxOperator(*bob.manager).forgetSender("urn:nobody").origins == 0);
  bob.checkSound();
}

TEST_CASE("P6: a session with frames in the inbox is not forgotten") {
  DeferringReceiver bob;
  bob.open();
  bob.ask({outbound("s", 1, slow())});
  const ForgetReport report = OutboxOperator(*bob.manager).forgetSender("urn:agent:alice");
  CHECK(report.sessions == 0);
  CHECK(report.kept == 1);
  CHECK(bob.ask({outbound("s", 1, slow())})[0]["duplicate"] == true);
  bob.checkSound();
}

TEST_CASE("limits out of range are refused with their names") {
  Receiver bob;
  const auto refusal = [&bob](auto change) {
    InboundOptions options = bob.inbound;
    change(options);
    try {
      InboundHandler(
          *bob.manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto names = [](const std::string& text, const char* name) { return text.find(name) != std::string::npos; };
  CHECK(names(refusal([](InboundOptions& options) { options.limits.sessionsMax = 0; }), "limits.sessionsMax"));
  CHECK(names(refusal([](InboundOptions& options) { options.limits.originsMax = 0; }), "limits.originsMax"));
  CHECK(names(refusal([](InboundOptions& options) { options.limits.marksMax = 0; }), "limits.marksMax"));
  CHECK(names(refusal([](InboundOptions& options) { options.limits.bytesMax = 0; }), "limits.bytesMax"));
  CHECK(names(refusal([](InboundOptions& options) { options.limits.totalBytesMax = 1; }), "limits.totalBytesMax"));
  CHECK(names(refusal([](InboundOptions& options) { options.limits.originRetention = std::chrono::milliseconds(-1); }),
              "limits.originRetention"));
  CHECK(names(refusal([](InboundOptions& options) { options.deferred.bytesMax = 0; }), "deferred.bytesMax"));
  for (const std::size_t frames : {0U, 257U}) {
    CHECK(names(refusal([frames](InboundOptions& options) { options.batchFramesMax = frames; }), "batchFramesMax"));
  }
  for (const std::size_t depth : {1U, 1001U}) {
    CHECK(names(refusal([depth](InboundOptions& options) { options.depthMax = depth; }), "depthMax"));
  }
  for (const std::size_t frames : {1U, 256U}) {
    CHECK(refusal([frames](InboundOptions& options) { options.batchFramesMax = frames; }).empty());
  }
  for (const std::size_t depth : {2U, 1000U}) {
    CHECK(refusal([depth](InboundOptions& options) { options.depthMax = depth; }).empty());
  }
}

}  // namespace
}  // namespace ackbox::inbound_limits_test
