#include "unit/cli/tool_stage.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "support/scripted_sender.hpp"

namespace ackbox::testing {
namespace {

/// An alarm that makes its own time pass.
class PassingClock final : public Clock {
public:
  explicit PassingClock(ManualClock& clock) : clock_(clock) {}
  [[nodiscard]] SteadyTime steadyNow() const override { return clock_.steadyNow(); }
  [[nodiscard]] WallTime wallNow() const override { return clock_.wallNow(); }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& /*executor*/) override {
    return std::make_unique<PassingAlarm>(clock_);
  }

private:
  class PassingAlarm final : public Alarm {
  public:
    explicit PassingAlarm(ManualClock& clock) : clock_(clock) {}
    void set(SteadyTime deadline, std::function<void()> wake) override {
      clock_.advance(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.steadyNow()));
      wake();
    }
    void cancel() override {}

  private:
    ManualClock& clock_;
  };

  ManualClock& clock_;
};

Frame frameOf(std::string peer, std::string session, std::string id, std::string data) {
  Frame frame;
  frame.peer = std::move(peer);
  frame.session = std::move(session);
  frame.type = "order.placed";
  frame.id = std::move(id);
  frame.data = std::move(data);
  return frame;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// What differs from machine to machine, or with the schema.
std::string normalised(std::string text, const std::string& directory) {
  text = replaced(std::move(text), directory + "/", "");
  text = std::regex_replace(text, std::regex("\"(file|free|wal)_bytes(_before)?\":[0-9]+"), "\"$1_bytes$2\":N");
  text = std::regex_replace(text, std::regex("\nfile +[^\n]*"), "\nfile  N");
  text = std::regex_replace(text, std::regex("\"sqlite_version\":\"[^\"]*\""), "\"sqlite_version\":\"V\"");
  text = std::regex_replace(text, std::regex("\"has_checkpoint_defect\":[a-z]+"), "\"has_checkpoint_defect\":B");
  text = std::regex_replace(text, std::regex("note: [^\n]*SQLite [^\n]*\n"), "");
  text = std::regex_replace(text, std::regex("\"text\":\"[^\"]*(SQLite|batches|3\\.[0-9]+)[^\n]*"), "N");
  text = std::regex_replace(text, std::regex("\n[a-z]+ +sqlite [^\n]*(\n +->[^\n]*)?"), "\nsqlite N");
  text = std::regex_replace(text, std::regex("\\b(log=|the file's )[0-9]+"), "$1N");
  return replaced(std::move(text), std::to_string(getpid()), "PID");
}

}  // namespace

ToolStage::ToolStage() {
  OutboxManager manager = agent();
  const auto sender = std::make_shared<ScriptedSender>([](const SendRequest& request) {
    if (request.peer == "carol") {
      SendReport report = ScriptedSender::all(request, Outcome::term, "out-of-stock");
      report.results.front().detail = "no lamps are left";
      return report;
    }
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].messageId == "deferred") {
        report.results[index].outcome = Outcome::defer;
      }
    }
    return report;
  });
  manager.setSender(sender);
  manager.enqueue(frameOf("bob", "orders", "gone", "{}"));
  manager.enqueue(frameOf("bob", "invoices", "deferred", "{\"total\": 12.50}"));
  manager.enqueue(frameOf("carol", "orders", "dead-1", R"({"item": "lamp"})"));
  clock_->advance(std::chrono::seconds(2));
  manager.drainOnce();
  clock_->advance(std::chrono::minutes(3));
  manager.enqueue(frameOf("bob", "orders", "pending-1", R"({"item": "chair", "count": 12345678901234567890})"));
  manager.enqueue(frameOf("bob", "orders", "pending-2", {}));
  clock_->advance(std::chrono::seconds(10));
}

OutboxManager ToolStage::agent(OutboxOptions options) const {
  options.clock = clock_;
  options.random = seededRandom(1);
  options.peers = {{.name = "bob", .url = "http://127.0.0.1:1/"}, {.name = "carol"}};
  return OutboxManager::open(file(), options);
}

void ToolStage::deliverAndKeep() const {
  OutboxOptions options;
  options.ackedRetention = std::chrono::hours(1);
  OutboxManager manager = agent(options);
  manager.setSender(std::make_shared<ScriptedSender>(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); }));
  while (manager.drainOnce().acked != 0) {
  }
}

ToolResult ToolStage::run(std::vector<std::string> arguments, const ToolSetting& setting) const {
  std::istringstream in(setting.in);
  std::ostringstream out;
  std::ostringstream err;
  const cli::World world{.arguments = std::move(arguments),
                         .serviceUser = setting.serviceUser,
                         .in = in,
                         .out = out,
                         .err = err,
                         .outIsTerminal = setting.isTerminal,
                         .errIsTerminal = setting.isTerminal,
                         .noColor = setting.noColor,
                         .clock = std::make_shared<PassingClock>(*clock_),
                         .random = seededRandom(2),
                         .disk = [this](const std::filesystem::path&) { return disk_; }};
  ToolResult result;
  result.code = cli::run(world);
  const std::string directory = dir_.file("").parent_path().string();
  result.out = normalised(out.str(), directory);
  result.err = normalised(err.str(), directory);
  return result;
}

ToolResult ToolStage::play(const std::vector<std::string>& arguments, const ToolSetting& setting) {
  std::vector<std::string> given = arguments;
  transcript_ += "$ ackbox";
  for (std::string& argument : given) {
    const bool isPath = argument.starts_with("@/");
    transcript_ += " " + (argument == "@" ? "agent.db" : argument.empty() ? "''" : argument.substr(isPath ? 2 : 0));
    argument = argument == "@" ? file() : isPath ? path(argument.substr(2)) : argument;
  }
  transcript_ += '\n';
  ToolResult result = run(given, setting);
  transcript_ += result.out;
  if (!result.err.empty()) {
    transcript_ += "(standard error)\n" + result.err;
  }
  transcript_ += "(exit " + std::to_string(result.code) + ")\n\n";
  return result;
}

void ToolStage::checkGolden(const std::string& name) const {
  testing::checkGolden(name, transcript_);
}

void checkGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + name;
  if (std::getenv("ACKBOX_REGENERATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(stream), {}};
  CHECK_MESSAGE(golden == text, "golden/" << name << " differs from:\n"
                                          << text << "\nif that is right: ACKBOX_REGENERATE=1 ctest -R unit_cli");
}

}  // namespace ackbox::testing
