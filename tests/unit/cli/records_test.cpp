// Goal: what the tool says of a message is the table of its fields. Method: `show`, `list` and `show --json` of a dead
// letter are searched for each field, and the line of `show --json` is enqueued again.

#include <doctest/doctest.h>

#include <string>

#include "ackbox/outbox_reader.hpp"
#include "cli/record_table.hpp"
#include "records/message.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::cli::records_test {

using testing::ToolStage;

TEST_CASE("show, list and --json have each field of a message") {
  const ToolStage stage;
  const OutboxReader reader = OutboxReader::open(stage.file());
  const WallTime now = stage.clock().wallNow();
  const std::string shown = stage.run({"show", stage.file(), "dead-1"}).out;
  const std::string listed = stage.run({"list", stage.file(), "--state", "failed"}).out;
  const std::string json = stage.run({"show", stage.file(), "dead-1", "--json"}).out;
  const auto check = [&]<typename Record>(const Record& record) {
    for (const records::Field<Record>& field : records::fields<Record>()) {
      CAPTURE(field.name);
      CAPTURE(field.shown.label);
      const records::Value value = field.value(record, now);
      Table fact = factTable();
      addFact(fact, field.shown.label.empty() ? "none" : field.shown.label, "");
      const std::string label = fact.text().substr(0, fact.text().size() - 1);
      const bool isLeftOut = field.isOptional && records::isNone(value, field.shown.form);
      const bool isShown = !field.shown.label.empty() && !records::isNone(value, field.shown.form);
      CHECK((!isShown || shown.find(label + " ") != std::string::npos));
      CHECK((!isShown || shown.find(fullText(value, field.shown.form, now)) != std::string::npos));
      CHECK((field.shown.column.empty() || listed.find(field.shown.column) != std::string::npos));
      CHECK((field.name.empty() ||
             isLeftOut == (json.find("\"" + std::string(field.name) + "\":") == std::string::npos)));
    }
  };
  check(*reader.find("dead-1"));
  check(*reader.frame("dead-1"));
}

TEST_CASE("what show --json prints is enqueued again, whatever a message has besides its frame") {
  ToolStage stage;
  const std::string json = stage.run({"show", stage.file(), "dead-1", "--json"}).out;
  const testing::ToolResult again = stage.run({"enqueue", stage.file()}, {.in = json});
  CHECK(again.code == 0);
  CHECK(again.out.find("1 duplicate") != std::string::npos);
}

}  // namespace ackbox::cli::records_test
