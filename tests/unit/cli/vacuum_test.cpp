// Goal: `vacuum` gives the file's free pages back beside an agent, tells what it did, and says so when it cannot.
// Method: large messages are given up and discarded; the file's figures before and after.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::vacuum_test {
namespace {

using testing::ToolResult;
using testing::ToolStage;

constexpr std::size_t kMessages = 45;

/// Large messages that come and go leave more than four megabytes of free pages.
void leaveFreePages(OutboxManager& agent, const std::string& peer) {
  std::vector<Frame> frames(kMessages);
  for (std::size_t index = 0; index < kMessages; ++index) {
    frames[index].peer = peer;
    frames[index].type = "t";
    frames[index].id = "large-" + std::to_string(index);
    frames[index].data = '"' + std::string(100'000, 'x') + '"';
  }
  for (const EnqueueReceipt& receipt : agent.enqueueBatch(frames)) {
    REQUIRE(receipt.isNew());
  }
  for (const Frame& frame : frames) {
    CHECK(OutboxOperator(agent).markFailed(frame.id).done());
    CHECK(OutboxOperator(agent).discard(frame.id).done());
  }
  REQUIRE(agent.getStats().freeBytes > 4'000'000);
}

TEST_CASE("vacuum gives all free pages back beside an agent, and shows its progress on a terminal only") {
  const ToolStage stage;
  OutboxManager agent = stage.agent();
  for (const bool isTerminal : {true, false}) {
    leaveFreePages(agent, "bob");
    const ToolResult result = stage.run({"vacuum", stage.file()}, {.isTerminal = isTerminal});
    CHECK(result.code == 0);
    CHECK(result.out.find("pages given back") != std::string::npos);
    CHECK((result.err.find("\r\x1b[K") != std::string::npos) == isTerminal);
    CHECK(agent.getStats().freeBytes == 0);
    CHECK(agent.getStats().fileBytes < 1'000'000);
  }
  CHECK(OutboxReader(agent).verify().clean());
}

TEST_CASE("vacuum ends with 1 on a file that an application made, and says why") {
  const ToolStage stage;
  const std::string file = stage.path("application.db");
  SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(x)");
  {
    OutboxManager agent = OutboxManager::open(file);
    leaveFreePages(agent, "default");
  }
  const ToolResult result = stage.run({"vacuum", file});
  CHECK(result.code == 1);
  CHECK(result.err.find("made without incremental vacuum") != std::string::npos);
}

}  // namespace
}  // namespace ackbox::vacuum_test
