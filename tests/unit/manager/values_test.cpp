// Goal: the C++ doors carry each value of tests/clients/values.json byte for byte, or refuse it before anything is
// stored; a handler's result that cannot be carried is left out. Method: values.json, a real file, and a request as
// bytes.

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::values_test {
namespace {

using nlohmann::json;

struct Value {
  std::string name = {};
  std::string text = {};
  /// As data, and as a handler's result.
  std::string data = {};
  std::string answer = {};
};

std::string textOf(const json& raw) {
  std::string text;
  if (raw.contains("hex")) {
    const std::string hex = raw["hex"];
    for (std::size_t at = 0; at < hex.size(); at += 2) {
      text.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
    }
    return text;
  }
  if (raw["json"].is_string()) {
    return raw["json"];
  }
  // Pieces, each with how often it stands there.
  for (std::size_t at = 0; at < raw["json"].size(); at += 2) {
    for (int count = raw["json"][at + 1]; count > 0; --count) {
      text += raw["json"][at].get<std::string>();
    }
  }
  return text;
}

std::vector<Value> values() {
  std::ifstream file(ACKBOX_VALUES_FILE, std::ios::binary);
  std::vector<Value> found;
  for (const json& raw : json::parse(file)) {
    const json but = raw.value("but", json::object());
    const std::string verdict = raw["verdict"];
    found.push_back({raw["name"], textOf(raw), but.value("cpp", verdict), but.value("answer", verdict)});
  }
  return found;
}

OutboundFrame outbound(std::size_t index, const std::string& type) {
  OutboundFrame frame;
  frame.messageId = type + "-" + std::to_string(index);
  frame.type = type;
  // Which value the handler is to answer with.
  frame.data = std::to_string(index);
  return frame;
}

/// The acknowledgement must have the result as it was given, or no result and why.
void checkAnswer(const Value& value, const std::string& answer, const std::string& id) {
  INFO(value.name << ": " << answer.substr(0, 300));
  const bool isThere = answer.find(R"("result":)" + value.text + "}") != std::string::npos;
  const bool isLeftOut = answer.find(R"("result":)") == std::string::npos &&
                         answer.find("the handler's result was left out, as it ") != std::string::npos;
  CHECK(answer.find(id) != std::string::npos);
  CHECK(answer.find(R"("outcome":"ack")") != std::string::npos);
  CHECK(isThere == (value.answer != "left out"));
  CHECK(isLeftOut == (value.answer == "left out"));
}

/// Both doors of a result: the handler's own, of type `now`, and a deferred frame's.
struct Receiver {
  Receiver() {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    options.clock = std::make_shared<testing::ManualClock>();
    options.peers = {{.name = "alice", .agent = "urn:agent:alice"}};
    options.log = [](const LogRecord&) {};
    manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("bob.db"), options));
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.deferred.handler = [this](DeferredFrame frame) {
      frame.finish(HandlerResult::ack(all[std::stoul(frame.frame().data)].text),
                   [this](bool isCommitted) { done.set_value(isCommitted); });
    };
    handler = std::make_unique<InboundHandler>(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          return frame.type == "now" ? HandlerResult::ack(all[std::stoul(frame.data)].text) : HandlerResult::defer();
        },
        inbound);
  }
  std::string post(const OutboundFrame& frame) {
    return testing::answerTo(*handler, testing::inboundRequest(testing::sendRequest({frame}))).body;
  }

  const std::vector<Value> all = values();
  testing::TempDir dir;
  std::promise<bool> done;
  std::unique_ptr<OutboxManager> manager;
  std::unique_ptr<InboundHandler> handler;
};

TEST_CASE("P13: data is stored byte for byte, or refused and not stored") {
  const testing::TempDir dir;
  OutboxOptions options;
  options.clock = std::make_shared<testing::ManualClock>();
  options.peers = {{.name = "bob", .url = "http://bob/"}};
  OutboxManager manager = OutboxManager::open(dir.file("alice.db"), options);
  const OutboxReader reader(manager);
  std::size_t count = 0;
  std::size_t carried = 0;
  for (const Value& value : values()) {
    INFO(value.name);
    Frame frame;
    frame.peer = "bob";
    frame.type = "t";
    frame.id = "m" + std::to_string(++count);
    frame.data = value.text;
    const EnqueueReceipt receipt = manager.enqueue(frame);
    CHECK(receipt.isNew() == (value.data == "carried"));
    const std::optional<Frame> stored = reader.frame(frame.id);
    REQUIRE(stored.has_value() == receipt.isNew());
    if (stored) {
      ++carried;
      CHECK(stored->data == value.text);
    }
  }
  CHECK(manager.getStats().pending == carried);
}

TEST_CASE("P13: a handler's result is carried byte for byte, or left out with the cause") {
  Receiver bob;
  REQUIRE(bob.all.size() > 30);
  for (std::size_t index = 0; index < bob.all.size(); ++index) {
    checkAnswer(bob.all[index], bob.post(outbound(index, "now")), "now-" + std::to_string(index));
  }
}

TEST_CASE("P13: a deferred frame's result is carried byte for byte, or left out with the cause") {
  Receiver bob;
  const OutboxReader reader(*bob.manager);
  for (std::size_t index = 0; index < bob.all.size(); ++index) {
    bob.done = {};
    std::future<bool> committed = bob.done.get_future();
    const std::string answer = bob.post(outbound(index, "later"));
    REQUIRE(answer.find(R"("outcome":"defer")") != std::string::npos);
    REQUIRE(committed.get());
    std::string event;
    for (const MessageInfo& message : reader.messages({}, 1000).messages) {
      const std::optional<Frame> frame = reader.frame(message.messageId);
      if (frame && frame->data.find("later-" + std::to_string(index) + "\"") != std::string::npos) {
        event = frame->data;
      }
    }
    checkAnswer(bob.all[index], event, "later-" + std::to_string(index));
  }
}

}  // namespace
}  // namespace ackbox::values_test
