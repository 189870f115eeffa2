// Goal: P1, P3: `ackbox restore`, killed before any of its steps, leaves a whole outbox at its place or, on a file
// system without links, at a name that it keeps; the next restore completes it, and the previous file is kept with its
// log. Method: the tool is killed before the Nth call of each kind that changes names, permissions or the disk, for
// each N until it is done; the short form (ACKBOX_TEST_SCALE below 1) leaves out two of three behind the fourth. The
// previous file has its newest message only in its log.

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "fatal_call.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"

using namespace ackbox;
namespace fs = std::filesystem;

namespace {

// The C library chooses between the calls with a folder and those without, which some processors do not have.
const crash::Calls kSymlinks{
#ifdef SYS_symlink
    SYS_symlink,
#endif
    SYS_symlinkat};
const crash::Calls kLinks{
#ifdef SYS_link
    SYS_link,
#endif
    SYS_linkat};
const crash::Calls kRenames{
#ifdef SYS_rename
    SYS_rename,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
};
const crash::Calls kUnlinks{
#ifdef SYS_unlink
    SYS_unlink,
#endif
    SYS_unlinkat};
const crash::Calls kModes{
#ifdef SYS_chmod
    SYS_chmod,
#endif
    SYS_fchmodat};

/// A file system without links.
crash::Refusals noLinks() {
  crash::Refusals refusals{{SYS_renameat2, EINVAL}};
  for (const crash::Calls& calls : {kLinks, kSymlinks}) {
    for (const long call : calls) {
      refusals.emplace_back(call, EPERM);
    }
  }
  return refusals;
}

/// The files as they are before each restore.
class Origin {
public:
  Origin() {
    // A sanitizer that looks for leaks in the tool would be a second tracer.
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
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

std::vector<std::string> restoring(const fs::path& folder) {
  return {TOOL, "restore", folder / "backup.db", folder / "agent.db", "--identity", "keep"};
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

/// The files, by names without digits, their kinds, link counts, rights and sizes.
std::string shapeOf(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename();
    std::erase_if(name, [](char character) { return character >= '0' && character <= '9'; });
    if (entry.is_symlink()) {
      files.push_back(name + '@');
      continue;
    }
    const auto rights = static_cast<unsigned>(entry.status().permissions());
    for (const std::uintmax_t number : {entry.hard_link_count(), std::uintmax_t{rights}, entry.file_size()}) {
      name += ' ' + std::to_string(number);
    }
    files.push_back(name);
  }
  std::ranges::sort(files);
  std::string shape;
  for (const std::string& file : files) {
    shape += file + '\n';
  }
  return shape;
}

void checkState(const fs::path& folder, bool mayBeAbsent) {
  if (fs::exists(folder / "agent.db")) {
    CHECK(isWhole(folder, "agent.db", "older"));
  } else {
    CHECK(mayBeAbsent);
  }
  CHECK(crash::runUntilCall(restoring(folder), {}, 0, {}) == 0);
  CHECK(fs::is_regular_file(fs::symlink_status(folder / "agent.db")));
  CHECK(isWhole(folder, "agent.db", "older"));
  CHECK_FALSE(isWhole(folder, "agent.db", "newer"));
  CHECK(isAnyKept(folder));
}

/// The number of the next call before which a restore is killed.
int after(int call) {
  constexpr int kFirst = 4;
  constexpr int kShortStep = 3;
  return call + (call < kFirst || testing::scaled(2) > 1 ? 1 : kShortStep);
}

/// Kills a restore before each of the calls; `seen` has the states that were checked before.
void killAtEach(const Origin& origin, const std::string& what, const crash::Calls& calls,
                const crash::Refusals& refused, std::set<std::string>& seen) {
  int kills = 0;
  int call = 1;
  for (bool isDone = false; !isDone; call = after(call)) {
    CAPTURE(what);
    CAPTURE(call);
    const testing::TempDir directory;
    const fs::path folder = directory.file("place");
    fs::copy(origin.copy(), folder);
    const int status = crash::runUntilCall(restoring(folder), calls, call, refused);
    isDone = !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
    CHECK((!isDone || status == 0));
    kills += isDone ? 0 : 1;
    if (seen.insert(shapeOf(folder)).second) {
      checkState(folder, !refused.empty() && !isDone);
    }
  }
  MESSAGE(what << ": " << kills << " kills; states so far: " << seen.size());
  CHECK(kills > 0);
}

}  // namespace

TEST_CASE("P1: a restore that is killed at any step leaves a whole file at its place, and the next one ends it") {
  const Origin origin;
  std::set<std::string> seen;
  killAtEach(origin, "symlink", kSymlinks, {}, seen);
  killAtEach(origin, "link", kLinks, {}, seen);
  killAtEach(origin, "renameat2", {SYS_renameat2}, {}, seen);
  killAtEach(origin, "unlink", kUnlinks, {}, seen);
  killAtEach(origin, "fsync", {SYS_fsync}, {}, seen);
  killAtEach(origin, "chmod", kModes, {}, seen);
}

TEST_CASE("P3: on a file system without links, a restore that is killed at any step parts no file from its log") {
  const Origin origin;
  std::set<std::string> seen;
  killAtEach(origin, "rename", kRenames, noLinks(), seen);
  killAtEach(origin, "unlink", kUnlinks, noLinks(), seen);
  killAtEach(origin, "fsync", {SYS_fsync}, noLinks(), seen);
}
