// Goal: whoever changes something over HTTP leaves a record with the name of the token, the operation and its target,
// also at an operation that is added later. Method: a table with a row for each operation that is no look, driven
// against a daemon.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "serve/api/operations.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::audit_test {
namespace {

using testing::bearer;
using testing::GuardedStage;
using testing::kJson;
using testing::kOperator;

/// A request, and its record; empty: it is the application's own work, and changes nothing by hand.
struct Row {
  std::string target = {};
  std::string body = {};
  std::string record = {};
};

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> kRows = {
      {"POST /v1/messages", {}},
      {"POST /v1/inbox/take", {}},
      {"POST /v1/inbox/settle", {}},
      {"POST /v1/messages:resend", {"", R"({"peer":"bob"})", R"(messages:resend target={"peer":"bob"})"}},
      {"POST /v1/messages:mark-failed", {"", R"({"ids":["none"]})", R"(messages:mark-failed target={"ids":["none"]})"}},
      {"PUT /v1/peers/{peer}",
       {"/v1/peers/carol", R"({"url":"http://127.0.0.1:2/"})", "peers:add target=carol changed=1"}},
      {"DELETE /v1/peers/{peer}", {"/v1/peers/carol", "", "peers:remove target=carol changed=0"}},
      {"PUT /v1/subscriptions/{name}",
       {"/v1/subscriptions/s", R"({"peer":"bob","type":"t"})", "subscriptions:add target=s changed=1"}},
      {"DELETE /v1/subscriptions/{name}", {"/v1/subscriptions/s", "", "subscriptions:remove target=s changed=1"}},
      {"POST /v1/inbox:retry", {"", R"({"all":true})", "inbox:retry "}},
      {"POST /v1/inbox:discard", {"", R"({"all":true})", "inbox:discard "}},
      {"POST /v1/dead-letters:retry", {"", R"({"all":true})", "dead-letters:retry "}},
      {"POST /v1/dead-letters:discard", {"", R"({"all":true})", "dead-letters:discard "}},
      {"POST /v1/peers/{peer}:pause", {"/v1/peers/bob:pause", "", "peers:pause target=bob changed=1"}},
      {"POST /v1/peers/{peer}:resume", {"/v1/peers/bob:resume", "", "peers:resume target=bob changed=1"}},
      {"POST /v1/sessions/{peer}/{session}:pause",
       {"/v1/sessions/bob/s:pause", "", "sessions:pause target=bob/s changed="}},
      {"POST /v1/sessions/{peer}/{session}:resume",
       {"/v1/sessions/bob/s:resume", "", "sessions:resume target=bob/s changed="}},
      {"POST /v1/sessions/{peer}/{session}:unblock",
       {"/v1/sessions/bob/s:unblock", "", "sessions:unblock target=bob/s changed="}},
  };
  return kRows;
}

}  // namespace

TEST_CASE("Each change over HTTP is in the log, with the name of its token") {
  GuardedStage stage;
  const std::string body = R"({"peer":"bob","type":"t","session":"s"})";
  REQUIRE(stage.asker().ask("POST", "/v1/messages", body, bearer(testing::kSender) + kJson).status == 201);
  for (const Operation& operation : operations()) {
    const std::string name = std::string(operation.method) + " " + std::string(operation.path);
    if (operation.method == "GET") {
      continue;
    }
    const auto row = rows().find(name);
    REQUIRE_MESSAGE(row != rows().end(), name);
    if (row->second.record.empty()) {
      continue;
    }
    const std::string target = row->second.target.empty() ? std::string(operation.path) : row->second.target;
    const int status = stage.asker().ask(operation.method, target, row->second.body, bearer(kOperator) + kJson).status;
    CHECK_MESSAGE(status / 100 == 2, name);
    const std::vector<std::string> records = stage.logged(" operated caller=ops operation=");
    REQUIRE_MESSAGE(!records.empty(), name);
    const std::string expected = "operation=" + row->second.record;
    const std::string quoteless = [&] {
      std::string text = records.back();
      std::erase(text, '\\');
      const std::size_t at = text.find("target=\"");
      return at == std::string::npos ? text : text.erase(at + 7, 1);
    }();
    CHECK_MESSAGE(quoteless.find(expected) != std::string::npos, quoteless);
  }
}

}  // namespace ackbox::serve::audit_test
