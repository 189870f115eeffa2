// Goal: what `prometheusText` writes is the text format as Prometheus reads it, its figures are the outbox's, and each
// series is there before anything has happened.
// Method: an outbox with a peer whose name needs escaping; each line is held against the format's grammar.

#include "ackbox/metrics.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::metrics_test {
namespace {

OutboxManager open(const testing::TempDir& dir) {
  return OutboxManager::open(dir.file("a.db"), {.peers = {{.name = "bob"}, {.name = "the \"other\\one\""}}});
}

bool hasLine(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("Every line is of the format, each family is introduced once, and no series occurs twice") {
  const testing::TempDir dir;
  const OutboxManager manager = open(dir);
  const std::string text = prometheusText(manager);
  const std::regex help("# HELP (ackbox_[a-z_]+) .+\\.?");
  const std::regex type("# TYPE (ackbox_[a-z_]+) (counter|gauge|summary)");
  const std::regex sample(R"re((ackbox_[a-z_]+)(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? ([-+0-9.e]+|NaN))re");
  std::set<std::string> families;
  std::set<std::string> series;
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    std::smatch match;
    if (line.starts_with("# HELP")) {
      REQUIRE(std::regex_match(line, match, help));
      family = match[1];
      CHECK(families.insert(family).second);
    } else if (line.starts_with("# TYPE")) {
      REQUIRE(std::regex_match(line, match, type));
      CHECK(match[1] == family);
      CHECK((match[2] == "counter") == family.ends_with("_total"));
    } else {
      REQUIRE(std::regex_match(line, match, sample));
      CHECK(match[1].str().starts_with(family));
      CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
  CHECK(families.size() > 20);
  CHECK(text.ends_with("\n"));
}

TEST_CASE("The figures are the outbox's, by peer") {
  const testing::TempDir dir;
  OutboxManager manager = open(dir);
  CHECK(hasLine(prometheusText(manager), R"(ackbox_messages{peer="bob",state="pending"} 0)"));
  CHECK(manager.enqueue({.peer = "bob", .type = "t", .data = "12345"}).isNew());
  const std::string id = manager.enqueue({.peer = "the \"other\\one\"", .type = "t"}).messageId;
  CHECK(OutboxOperator(manager).markFailed(id).done());
  OutboxOperator(manager).pause("bob");
  const std::string text = prometheusText(manager);
  CHECK(hasLine(text, R"(ackbox_messages{peer="bob",state="pending"} 1)"));
  CHECK(hasLine(text, R"(ackbox_pending_bytes{peer="bob"} 5)"));
  CHECK(hasLine(text, R"(ackbox_messages{peer="the \"other\\one\"",state="failed"} 1)"));
  CHECK(hasLine(text, R"(ackbox_dead_letters_total{peer="the \"other\\one\""} 1)"));
  CHECK(hasLine(text, R"(ackbox_peer_up{peer="bob"} 0)"));
  CHECK(hasLine(text, R"(ackbox_peer_state{peer="bob",state="paused"} 1)"));
  CHECK(hasLine(text, R"(ackbox_peer_state{peer="bob",state="up"} 0)"));
  CHECK(hasLine(text, "ackbox_max_pending_messages 1000000"));
  CHECK(text.find("\nackbox_disk_available_bytes 0\n") == std::string::npos);
  CHECK(hasLine(text, "ackbox_owners 1"));
  CHECK(hasLine(text, "ackbox_store_info{origin=\"" + manager.origin() + "\"} 1"));
}

TEST_CASE("In OpenMetrics a family is named without the ending of its series, and the end is marked") {
  const testing::TempDir dir;
  const OutboxManager manager = open(dir);
  const std::string text = prometheusText(manager, MetricsFormat::openMetrics);
  CHECK(text.ends_with("\n# EOF\n"));
  CHECK(hasLine(text, "# TYPE ackbox_retries counter"));
  CHECK(hasLine(text, R"(ackbox_retries_total{peer="bob"} 0)"));
  CHECK(hasLine(text, "# TYPE ackbox_store info"));
  CHECK(hasLine(text, "ackbox_store_info{origin=\"" + manager.origin() + "\"} 1"));
  CHECK(text.find("_total counter") == std::string::npos);
}

}  // namespace ackbox::metrics_test
