// Goal: what the alert rules and the dashboard ask for is there: each series that they name is one that the daemon
// has from its start, in both formats.
// Method: compare the names in docs/monitoring with the daemon's own text.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "ackbox/outbox_manager.hpp"
#include "protocol/exposition.hpp"
#include "serve/api/own_figures.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::monitoring_test {
namespace {

using nlohmann::json;
using testing::HttpReply;
using testing::ScriptedSender;
using testing::ServeStage;
using testing::TempDir;

std::string readFile(const std::string& name) {
  std::ifstream in(std::string(MONITORING_FOLDER) + "/" + name);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  REQUIRE_FALSE(text.empty());
  return text;
}

/// The series that a text names; an alert's name is none.
std::set<std::string> namesIn(const std::string& text) {
  const std::regex name("\\backbox_[a-z_]+");
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), name); match != std::sregex_iterator(); ++match) {
    names.insert(match->str());
  }
  return names;
}

/// The names at the lines' beginnings, and of families, which have no series where nothing is configured for them.
std::set<std::string> seriesOf(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      line.erase(0, std::string_view("# TYPE ").size());
    }
    if (!line.starts_with('#')) {
      names.insert(line.substr(0, line.find_first_of("{ ")));
    }
  }
  return names;
}

/// All queries of a dashboard.
std::string queriesOf(const json& node) {
  std::string queries;
  for (const auto& [key, value] : node.items()) {
    if (value.is_structured()) {
      queries += queriesOf(value);
    } else if (key == "expr" || key == "query" || key == "definition") {
      queries += value.get<std::string>() + "\n";
    }
  }
  return queries;
}

void checkAllExist(const std::set<std::string>& names, const std::set<std::string>& series) {
  CHECK(names.size() > 5);
  for (const std::string& name : names) {
    CHECK_MESSAGE(series.contains(name), name << " is no series");
  }
}

}  // namespace

TEST_CASE("The rules and the dashboard ask for series that are there from the start") {
  ServeStage stage;
  const std::set<std::string> series = seriesOf(stage.asker().ask("GET", "/metrics").body);
  checkAllExist(namesIn(readFile("alerts.yml")), series);
  checkAllExist(namesIn(queriesOf(json::parse(readFile("dashboard.json")))), series);
}

TEST_CASE("OpenMetrics is answered where it is asked for, with the same series and its end marked once") {
  ServeStage stage;
  const HttpReply plain = stage.asker().ask("GET", "/metrics");
  CHECK(plain.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(plain.body.find("# EOF") == std::string::npos);
  const HttpReply open = stage.asker().ask(
      "GET", "/metrics", {}, "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n");
  CHECK(open.header("Content-Type") == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK(open.body.find("# EOF\n") == open.body.size() - std::string_view("# EOF\n").size());
  CHECK(open.body.find("# TYPE ackbox_enqueued_messages counter\n") != std::string::npos);
  CHECK(open.body.find("# TYPE ackbox_build info\n") != std::string::npos);
  const std::set<std::string> series = seriesOf(open.body);
  for (const std::string& name : seriesOf(plain.body)) {
    CHECK_MESSAGE((series.contains(name) || name == "ackbox_certificate_end_timestamp_seconds"), name);
  }
}

TEST_CASE("Dead letters are counted by reason, and reasons of peers and programs are one") {
  ServeStage stage;
  const auto hasLine = [&](const std::string& line) {
    return stage.asker().ask("GET", "/metrics").body.find("\n" + line + "\n") != std::string::npos;
  };
  CHECK(hasLine(R"(ackbox_failed_messages_total{peer="bob",reason="rejected"} 0)"));
  CHECK(hasLine(R"(ackbox_failed_messages_total{peer="away",reason="other"} 0)"));
  const std::string message = R"({"peer":"bob","type":"bad","data":1})";
  CHECK(stage.asker().ask("POST", "/v1/messages", message, testing::kJson).status == 201);
  // The event is in another thread than the commit.
  while (!hasLine(R"(ackbox_failed_messages_total{peer="bob",reason="rejected"} 1)")) {
  }
  const TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("a.db"), {});
  manager.setSender(std::make_shared<ScriptedSender>(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::term, "a-code-of-the-peer"); }));
  OwnFigures figures(Config(), std::make_shared<SpanCounts>(), std::make_shared<Refusals>(systemClock(), LogSink()));
  figures.watch(manager);
  Frame frame;
  frame.peer = "default";
  frame.type = "t";
  manager.enqueue(frame);
  manager.drainOnce();
  protocol::Exposition out(MetricsFormat::prometheus);
  figures.write(out, {}, {}, {}, systemClock()->wallNow());
  CHECK(out.take().find(R"(ackbox_failed_messages_total{peer="default",reason="other"} 1)") != std::string::npos);
}

}  // namespace ackbox::serve::monitoring_test
