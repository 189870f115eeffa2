// Goal: an agent that runs obeys what an operator orders through the tool, without a word between the two processes.
// Method: an agent delivers, on a clock that moves when told; the tool writes orders and frames on a connection of its
// own. An agent reads orders before rows, so that a later frame to another peer shows that it has read the order.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/scripted_sender.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::pause_test {
namespace {

using testing::ScriptedSender;
using testing::ToolStage;

class RunningAgent {
public:
  explicit RunningAgent(const ToolStage& stage, OutboxOptions options = {})
      : stage_(stage), agent_(stage.agent(std::move(options))) {
    agent_.setSender(sender_);
    agent_.start();
  }

  [[nodiscard]] bool hasSent(const std::string& id) const {
    const std::vector<OutboundFrame> frames = sender_->frames();
    return std::any_of(frames.begin(), frames.end(), [&](const OutboundFrame& frame) { return frame.messageId == id; });
  }
  /// Lets time pass until it has sent the message.
  void waitFor(const std::string& id) const {
    while (!hasSent(id)) {
      stage_.clock().advance(std::chrono::milliseconds(20));
      std::this_thread::yield();
    }
  }
  /// The tool brings a frame.
  void bring(const std::string& peer, const std::string& session, const std::string& id) const {
    const std::string line =
        R"({"peer":")" + peer + R"(","session":")" + session + R"(","type":"t","id":")" + id + "\"}";
    CHECK(stage_.run({"enqueue", stage_.file()}, {.in = line}).code == 0);
  }
  /// Whatever was brought before has been claimed when this returns, if nothing holds it back.
  void passTime(const std::string& mark) const {
    for (const char* turn : {"-1", "-2", "-3"}) {
      bring("carol", "marks", mark + turn);
      waitFor(mark + turn);
    }
  }

private:
  const ToolStage& stage_;
  std::shared_ptr<ScriptedSender> sender_ = std::make_shared<ScriptedSender>([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].messageId == "poison") {
        report.results[index].outcome = Outcome::term;
        report.results[index].code = "no";
      }
    }
    return report;
  });
  OutboxManager agent_;
};

TEST_CASE("row 11: a running agent sends nothing more to a peer that the tool pauses, until the tool resumes it") {
  const ToolStage stage;
  const RunningAgent agent(stage);
  agent.waitFor("pending-2");
  CHECK(stage.run({"pause", stage.file(), "bob"}).code == 0);
  agent.bring("bob", "orders", "held");
  agent.passTime("paused");
  CHECK_FALSE(agent.hasSent("held"));
  CHECK(stage.run({"explain", stage.file(), "held"}).out.find("paused") != std::string::npos);
  CHECK(stage.run({"resume", stage.file(), "bob"}).code == 0);
  agent.waitFor("held");
}

TEST_CASE("row 11: a pause of one session leaves the peer's others going") {
  const ToolStage stage;
  const RunningAgent agent(stage);
  agent.waitFor("pending-2");
  CHECK(stage.run({"pause", stage.file(), "bob", "--session", "orders"}).code == 0);
  agent.bring("bob", "orders", "held");
  agent.bring("bob", "others", "free");
  agent.waitFor("free");
  agent.passTime("paused");
  CHECK_FALSE(agent.hasSent("held"));
  CHECK(stage.run({"resume", stage.file(), "bob", "--session", "orders"}).code == 0);
  agent.waitFor("held");
}

TEST_CASE("A command that finds nothing says that the file does not know the peer or session that it was given") {
  const ToolStage stage;
  const std::string noPeer = "the outbox knows no peer by the name of nope";
  const std::string noSession = "no message was ever enqueued to session nope of bob";
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"list"}, Words{"retry"}, Words{"retry", "--dry-run"}, Words{"discard", "--yes"}}) {
    CAPTURE(command[0]);
    const auto said = [&](const Words& names) {
      Words words = command;
      words.insert(words.begin() + 1, stage.file());
      words.insert(words.end(), names.begin(), names.end());
      const testing::ToolResult result = stage.run(words);
      CHECK(result.code == 1);
      return result.err;
    };
    CHECK(said({"--peer", "nope"}).find(noPeer) != std::string::npos);
    CHECK(said({"--peer", "bob", "--session", "nope"}).find(noSession) != std::string::npos);
    CHECK(said({"--peer", "carol", "--session", "nope"}).find("bob") == std::string::npos);
  }
  // A pause may come before the first message; its effect is the same.
  const testing::ToolResult paused = stage.run({"pause", stage.file(), "bob", "--session", "nope"});
  CHECK(paused.code == 0);
  CHECK(paused.err.find(noSession) != std::string::npos);
  CHECK(stage.run({"pause", stage.file(), "bob", "--session", "orders"}).err.empty());
}

TEST_CASE("row 18: a session that a dead letter stopped goes on in a running agent when the tool unblocks it") {
  const ToolStage stage;
  OutboxOptions options;
  options.sessionPolicies = {{.session = "strict", .gap = GapPolicy::block}};
  const RunningAgent agent(stage, options);
  agent.bring("bob", "strict", "poison");
  agent.waitFor("poison");
  agent.bring("bob", "strict", "behind");
  agent.passTime("blocked");
  CHECK_FALSE(agent.hasSent("behind"));
  CHECK(stage.run({"blocked", stage.file()}).out.find("poison") != std::string::npos);
  CHECK(stage.run({"unblock", stage.file(), "bob", "strict"}).code == 0);
  agent.waitFor("behind");
  CHECK(stage.run({"blocked", stage.file()}).code == 1);
}

}  // namespace
}  // namespace ackbox::pause_test
