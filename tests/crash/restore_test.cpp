// Goal: P1, P3: `ackbox restore`, killed before any of its steps, leaves a whole outbox at its place or, on a file
// system without links, at a name that it keeps; the next restore completes it, and the previous file is kept with its
// log. Method: strace kills the tool at the Nth call of each kind that changes names, permissions or the disk, for each
// N until it is done. The previous file has its newest message only in its log.

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/temp_dir.hpp"

using namespace ackbox;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoLinks =
    "-e inject=?link,linkat,?symlink,symlinkat:error=EPERM -e inject=renameat2:error=EINVAL";

constexpr const char* kTraced =
    "?link,linkat,?symlink,symlinkat,?rename,?renameat,renameat2,?unlink,unlinkat,fsync,?chmod,fchmodat";

/// The files as they are before each restore.
class Origin {
public:
  Origin() {
    fs::create_directory(folder());
    OutboxManager agent = OutboxManager::open(folder() / "agent.db");
    enqueue(agent, "older");
    OutboxReader::open(folder() / "agent.db").backUp(folder() / "backup.db");
    enqueue(agent, "newer");
    fs::create_directory(copy());
    // The state that a killed agent leaves.
    for (const char* name : {"agent.db", "agent.db-wal", "backup.db"}) {
      fs::copy_file(folder() / name, copy() / name);
    }
  }

  [[nodiscard]] fs::path copy() const { return directory_.file("copy"); }

private:
  [[nodiscard]] fs::path folder() const { return directory_.file("origin"); }
  static void enqueue(OutboxManager& agent, const std::string& id) {
    Frame frame;
    frame.type = "test";
    frame.id = id;
    REQUIRE(agent.enqueue(frame).isNew());
  }

  testing::TempDir directory_;
};

bool isKilled(int status) {
  // The status of strace, which ends as its child does, or of the shell that started it.
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 128 + 9);
}

int restore(const fs::path& folder, const std::string& strace) {
  const std::string to = (folder / "agent.db").string();
  // A leak-detecting sanitizer would be a second tracer.
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 " + strace + " " + TOOL + " restore " +
                              (folder / "backup.db").string() + " " + to + " --identity keep > /dev/null";
  return std::system(command.c_str());
}

/// Opens a copy: opening the file itself would change it.
bool isWhole(const fs::path& folder, const std::string& name, const char* message) {
  const testing::TempDir directory;
  const fs::path copy = directory.file("copy");
  fs::copy(folder, copy, fs::copy_options::copy_symlinks | fs::copy_options::recursive);
  try {
    const OutboxReader reader = OutboxReader::open(copy / name);
    return reader.verify().clean() && reader.find(message).has_value();
  } catch (const Error&) {
    return false;
  }
}

bool isAnyKept(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool isBeside = std::ranges::any_of(std::vector{"-wal", "-journal", "-shm", "-owners", "-moving"},
                                              [&](const char* end) { return name.ends_with(end); });
    if (name.starts_with("agent.db.before-restore-") && !isBeside) {
      names.push_back(name);
    }
  }
  return std::ranges::any_of(names, [&](const std::string& name) { return isWhole(folder, name, "newer"); });
}

/// The files, by names without digits, their kinds and their link counts.
std::string shapeOf(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename();
    std::erase_if(name, [](char character) { return character >= '0' && character <= '9'; });
    files.push_back(name + (entry.is_symlink() ? "@" : std::to_string(entry.hard_link_count())) + ' ');
  }
  std::ranges::sort(files);
  std::string shape;
  for (const std::string& file : files) {
    shape += file;
  }
  return shape;
}

void killAtEach(const Origin& origin, const std::string& calls, const std::string& faults) {
  int kills = 0;
  std::string seen;
  for (bool isDone = false; !isDone; ++kills) {
    CAPTURE(calls);
    CAPTURE(kills);
    const testing::TempDir directory;
    const fs::path folder = directory.file("place");
    fs::copy(origin.copy(), folder);
    const int status = restore(folder, "strace -f -qq -o /dev/null -e trace=" + std::string(kTraced) + " " + faults +
                                           " -e inject=" + calls + ":signal=KILL:when=" + std::to_string(kills + 1));
    isDone = !isKilled(status);
    CHECK((!isDone || status == 0));
    // The previous kill left the same state, which was checked.
    if (const std::string shape = shapeOf(folder); std::exchange(seen, shape) == shape) {
      continue;
    }
    if (fs::exists(folder / "agent.db")) {
      CHECK(isWhole(folder, "agent.db", "older"));
    } else {
      CHECK_FALSE(faults.empty());
      CHECK_FALSE(isDone);
    }
    CHECK(restore(folder, "") == 0);
    CHECK(fs::is_regular_file(fs::symlink_status(folder / "agent.db")));
    CHECK(isWhole(folder, "agent.db", "older"));
    CHECK_FALSE(isWhole(folder, "agent.db", "newer"));
    CHECK(isAnyKept(folder));
  }
  MESSAGE(calls << ": " << kills - 1 << " kills");
  // The last run is the one that nothing killed.
  CHECK(kills > 1);
}

}  // namespace

TEST_CASE("P1: a restore that is killed at any step leaves a whole file at its place, and the next one ends it") {
  const Origin origin;
  for (const char* calls :
       {"?symlink,symlinkat", "?link,linkat", "renameat2", "?unlink,unlinkat", "fsync", "?chmod,fchmodat"}) {
    killAtEach(origin, calls, "");
  }
}

TEST_CASE("P3: on a file system without links, a restore that is killed at any step parts no file from its log") {
  const Origin origin;
  for (const char* calls : {"?rename,?renameat", "?unlink,unlinkat", "fsync"}) {
    killAtEach(origin, calls, kNoLinks);
  }
}
