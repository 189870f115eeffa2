// Goal: `init` makes what agents start with, complete and secret, or makes nothing.
// Method: the tool in a folder of its own; the daemon's own reader judges the configurations.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::init_test {
namespace {

using testing::ToolResult;
using testing::ToolStage;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::set<std::string> namesIn(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

struct InitStage {
  ToolStage tool;
  fs::path folder = tool.path("agents");

  InitStage() { fs::create_directory(folder); }
  [[nodiscard]] ToolResult init(std::vector<std::string> words) const {
    words.insert(words.begin(), "init");
    words.insert(words.end(), {"--folder", folder.string()});
    return tool.run(words);
  }
};

TEST_CASE(
    "init makes a configuration and tokens for each agent, and a key for each pair, readable by the owner alone") {
  const InitStage stage;
  const ToolResult made = stage.init({"alice", "bob", "carol"});
  CHECK(made.code == cli::kDone);
  CHECK(namesIn(stage.folder) == std::set<std::string>{"alice.json", "bob.json", "carol.json", "alice.tokens",
                                                       "bob.tokens", "carol.tokens", "alice-bob.key", "alice-carol.key",
                                                       "bob-carol.key"});
  std::set<std::string> secrets;
  for (const std::string& name : namesIn(stage.folder)) {
    struct stat status {};
    REQUIRE(stat((stage.folder / name).c_str(), &status) == 0);
    const bool isSecret = !name.ends_with(".json");
    CHECK((status.st_mode & (S_IRWXG | S_IRWXO)) == (isSecret ? 0U : status.st_mode & (S_IRGRP | S_IROTH)));
    if (isSecret) {
      secrets.insert(read(stage.folder / name));
    }
  }
  // None is another's.
  CHECK(secrets.size() == 6);
  const std::string alice = read(stage.folder / "alice.json");
  CHECK(alice.find(R"("listen": "127.0.0.1:7070")") != std::string::npos);
  CHECK(alice.find(R"("url": "http://127.0.0.1:7082/inbox")") != std::string::npos);
  CHECK(made.out.find("ackbox serve agents/bob.db --config agents/bob.json") != std::string::npos);
  CHECK(made.out.find(read(stage.folder / "alice-bob.key")) == std::string::npos);
}

TEST_CASE("init makes nothing where one of its files is there, or a name or a port cannot be") {
  const InitStage stage;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"alice"},
                                             {"alice", "alice"},
                                             {"alice", "../bob"},
                                             {"alice", ".bob"},
                                             {"alice", ""},
                                             {"a", "b-c", "a-b", "c"},
                                             {"alice", std::string(65, 'b')},
                                             {"alice", "bob", "--port", "0"},
                                             {"alice", "bob", "--port", "65525"},
                                             {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}}) {
    const ToolResult refused = stage.init(words);
    CHECK(refused.code == cli::kUsage);
    CHECK_FALSE(refused.err.empty());
  }
  CHECK(namesIn(stage.folder).empty());
  std::ofstream(stage.folder / "alice-bob.key") << "a key";
  const ToolResult refused = stage.init({"alice", "bob"});
  CHECK(refused.code == cli::kNothing);
  CHECK(refused.err.find("alice-bob.key: is there; nothing was made") != std::string::npos);
  CHECK(namesIn(stage.folder) == std::set<std::string>{"alice-bob.key"});
  CHECK(read(stage.folder / "alice-bob.key") == "a key");
}

TEST_CASE("init by root says how the user of the unit may read the secrets") {
  const InitStage stage;
  const std::vector<std::string> words = {"init", "alice", "bob", "--folder", stage.folder.string()};
  const ToolResult made = stage.tool.run(words, {.serviceUser = "ackbox"});
  const std::string secrets = " agents/alice.tokens agents/alice-bob.key agents/bob.tokens";
  CHECK(made.out.find("  chgrp ackbox" + secrets + " && chmod 0640" + secrets + "\n") != std::string::npos);
  CHECK(stage.init({"carol", "dave"}).out.find("chgrp") == std::string::npos);
}

TEST_CASE("init names its files as JSON lines, and a folder that is not there") {
  const InitStage stage;
  const ToolResult made = stage.init({"alice", "bob", "--json"});
  CHECK(made.out.starts_with(R"({"file":"agents/alice.json","secret":false})"));
  CHECK(made.out.find("curl") == std::string::npos);
  CHECK(stage.tool.run({"init", "alice", "bob", "--folder", stage.tool.path("nowhere")}).code == cli::kCannot);
}

}  // namespace
}  // namespace ackbox::init_test
