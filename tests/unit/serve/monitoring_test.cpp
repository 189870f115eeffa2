// Goal: what the alert rules and the dashboard ask for is there: each series that they name is one that the daemon
// has from its start, in both formats.
// Method: compare the names in docs/monitoring with the daemon's own text.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve {
namespace {

using nlohmann::json;
using testing::HttpReply;
using testing::ServeStage;

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

/// The names at the lines' beginnings.
std::set<std::string> seriesOf(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
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
  CHECK(seriesOf(open.body) == seriesOf(plain.body));
}

}  // namespace ackbox::serve
