// Goal: an operator finds an entry for each reason and each alert that the program can give, and no entry is about
// something that does not exist.
// Method: compare the headings of the runbook's pages with the names in the sources and in the alert rules.

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::runbook_test {
namespace {

using Names = std::set<std::string>;

std::string contentsOf(const std::string& file) {
  std::string text;
  for (const SourceLine& line : readLines(file)) {
    text += line.text + '\n';
  }
  REQUIRE_FALSE(text.empty());
  return text;
}

/// What the pattern's first group matches.
Names matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  Names names;
  for (std::sregex_iterator found(text.begin(), text.end(), expression), end; found != end; ++found) {
    names.insert((*found)[1].str());
  }
  return names;
}

/// The entries of a page: its headings of the third level.
Names entriesOf(const std::string& page) {
  Names entries;
  for (const SourceLine& line : readLines("docs/runbooks/" + page)) {
    if (line.text.starts_with("### ")) {
      CHECK_MESSAGE(entries.insert(line.text.substr(4)).second, describe(line) << "\nthere are two such entries");
    }
  }
  return entries;
}

/// The part of a text from `begin` to the next `end`.
std::string part(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find(end, from);
  REQUIRE(to != std::string::npos);
  return text.substr(from, to - from);
}

void checkSame(const Names& entries, const Names& names, std::string_view page) {
  CHECK(names.size() > 5);
  for (const std::string& name : names) {
    CHECK_MESSAGE(entries.contains(name), page << " has no entry for " << name);
  }
  for (const std::string& entry : entries) {
    CHECK_MESSAGE(names.contains(entry), page << " has an entry for " << entry << ", which the program does not give");
  }
}

Names unionOf(Names names, const Names& others) {
  names.insert(others.begin(), others.end());
  return names;
}

}  // namespace

TEST_CASE("the runbook has an entry for each reason that explain gives, and for no other") {
  const std::string reason = "BlockReason::([a-zA-Z]+)";
  const Names outbound =
      matches(contentsOf("src/store/decisions/explaining.cpp") + contentsOf("src/store/sqlite/read/explainer.cpp") +
                  contentsOf("src/manager/facade/diagnosis.cpp"),
              reason);
  const Names inbound = matches(contentsOf("src/store/sqlite/read/inbox_reader.cpp"), reason);
  checkSame(entriesOf("messages.md"), outbound, "messages.md");
  checkSame(entriesOf("received.md"), inbound, "received.md");
  const std::string table = part(contentsOf("src/base/names.cpp"), "kBlockReasons[]", "};");
  checkSame(unionOf(outbound, inbound), matches(table, "\"([a-zA-Z]+)\""), "the runbook");
}

TEST_CASE("the runbook has an entry for each reason of a dead letter that is the library's own") {
  const std::string quoted = "\"([a-z-]+)\"";
  const Names counted = matches(part(contentsOf("src/serve/api/own_figures.cpp"), "kOtherReason =", "};"), quoted);
  const Names inView =
      matches(part(contentsOf("src/store/sqlite/schema/views.cpp"), "CASE o.reason", "ELSE"), "WHEN '([a-z-]+)'");
  checkSame(entriesOf("dead_letters.md"), unionOf(counted, inView), "dead_letters.md");
}

TEST_CASE("each alert names its entry in the runbook, and each entry is an alert's") {
  const std::string rules = contentsOf("docs/monitoring/alerts.yml");
  const Names alerts = matches(rules, "- alert: ([A-Za-z]+)");
  checkSame(entriesOf("alerts.md"), alerts, "alerts.md");
  Names anchors;
  for (std::string alert : alerts) {
    std::ranges::transform(alert, alert.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? char(letter - 'A' + 'a') : letter;
    });
    anchors.insert(alert);
  }
  checkSame(matches(rules, "runbook: \"docs/runbooks/alerts\\.md#([a-z]+)\""), anchors, "alerts.yml");
}

}  // namespace ackbox::test::runbook_test
