// Goal: units that people read, and JSON that cannot steer their terminal.
// Method: values in, strings out.

#include "records/text.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>

#include <optional>

#include "base/duration.hpp"
#include "cli/arguments.hpp"
#include "cli/grammar.hpp"
#include "cli/table.hpp"
#include "json/line.hpp"

namespace ackbox::cli::text_test {
namespace {

using std::chrono::milliseconds;

TEST_CASE("JSON on one line keeps its meaning and steers nothing") {
  CHECK(json::oneLine("{\n\t\"a\": 1.0e2 }") == "{  \"a\": 1.0e2 }");
  CHECK(json::oneLine("\"\x7f\xc2\x9b\"") == "\"\\u007f\\u009b\"");
  CHECK(json::oneLine("\"\xff\"") == "\"\\ufffd\"");
  CHECK(json::asString("a\"\x1b\n\xff") == "\"a\\\"\\u001b\\n\\ufffd\"");
}

TEST_CASE("sizes, durations and ages") {
  CHECK(records::bytesText(0) == "0 B");
  CHECK(records::bytesText(1023) == "1023 B");
  CHECK(records::bytesText(1258291) == "1.2 MiB");
  CHECK(records::bytesText(1048575) == "1.0 MiB");
  CHECK(records::bytesText(UINT64_MAX) == "16.0 EiB");
  CHECK(records::durationText(milliseconds(999)) == "999 ms");
  CHECK(records::durationText(std::chrono::minutes(3)) == "3 m");
  CHECK(records::durationText(std::chrono::hours(49)) == "2 d");
  const WallTime now{milliseconds(1'700'000'000'000)};
  CHECK(records::agoText(now, now - std::chrono::seconds(90)) == "1 m ago");
  CHECK(records::agoText(now, now + std::chrono::seconds(12)) == "in 12 s");
  CHECK(records::agoText(now, now) == "now");
  CHECK(records::instantText(now) == "2023-11-14 22:13:20 UTC");
}

TEST_CASE("durations of the command line") {
  CHECK(parseDuration("500ms") == milliseconds(500));
  CHECK(parseDuration("10") == std::chrono::seconds(10));
  CHECK(parseDuration("7d") == std::chrono::hours(168));
  for (const char* wrong : {"", "s", "-1s", "1w", "1.5s", "4294967295d", "99999999999s"}) {
    CAPTURE(wrong);
    CHECK(parseDuration(wrong) == std::nullopt);
  }
}

TEST_CASE("columns are as wide as their widest cell in characters, and long text is cut") {
  Table table({{"NAME", Align::left}, {"N", Align::right}, {"WHY", Align::left}});
  table.add({"ñ", "10", ""});
  table.add({"\x1b", "9", "x"});
  CHECK(table.text() == "NAME   N  WHY\nñ     10\n\\x1b   9  x\n");
  CHECK(records::shortened("ñandú", 5) == "ñandú");
  CHECK(records::shortened("ñandú", 3) == "ña…");
}

}  // namespace
TEST_CASE("each command stands once in the overview of the commands") {
  Arguments arguments;
  const auto grammar = makeGrammar(arguments);
  const std::string text = overview();
  std::size_t words = 0;
  for (const CLI::App* command : grammar->get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = " " + command->get_name();
    const auto isWhole = [&](std::size_t at) {
      return text[at + name.size()] == ' ' || text[at + name.size()] == '\n';
    };
    std::size_t count = 0;
    for (std::size_t at = text.find(name); at != std::string::npos && at < text.rfind("\n\n");
         at = text.find(name, at + 1)) {
      count += isWhole(at) ? 1U : 0U;
    }
    CHECK_MESSAGE(count == 1, name);
    ++words;
  }
  CHECK(words > 30);
}

}  // namespace ackbox::cli::text_test
