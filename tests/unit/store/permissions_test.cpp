// Goal: P11: messages are nobody else's to read, and who came first does not shut others out: a new file is 0600, the
// sidecar is as the database is, no link is followed; who only looks changes nothing, and sees a file whose agent is
// down. Method: files made under several masks; a child process without any rights where the tests run as root.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "ackbox/outbox_reader.hpp"
#include "store_world.hpp"

namespace permissions_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

constexpr uid_t kNobody = 65'534;

mode_t modeOf(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

uid_t ownerOf(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  return status.st_uid;
}

std::filesystem::path sidecarOf(const StoreWorld& world) {
  return world.file.string() + "-ackbox-owners";
}

class Mask {
public:
  explicit Mask(mode_t mask) : before_(umask(mask)) {}
  ~Mask() { umask(before_); }
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;

private:
  mode_t before_;
};

/// The names and bytes of all files, save the shared memory, which readers take part in.
std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("-shm")) {
      std::ifstream stream(entry.path(), std::ios::binary);
      files[name] = {std::istreambuf_iterator<char>(stream), {}};
    }
  }
  return files;
}

/// As `world`'s file after its process was killed: a copy that was made while it was open.
void killed(const StoreWorld& world, const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  for (const char* suffix : {"", "-wal", "-ackbox-owners"}) {
    std::filesystem::copy_file(world.file.string() + suffix, folder / (world.file.filename().string() + suffix));
  }
}

/// Runs `work` in a child that may do nothing by its user; returns what it does, or -1 when it threw.
template <typename Work>
int asNobody(Work work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 99;
    if (getuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0)) {
      try {
        code = work();
      } catch (const std::exception&) {
        code = 98;
      }
    }
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("P11: a new file, its log and its sidecar are for their owner alone, whatever the process's mask") {
  for (const mode_t mask : {0000U, 0022U, 0077U}) {
    const Mask masked(mask);
    StoreWorld world;
    const auto store = world.open();
    enqueueOne(*store, frameOf("s"));
    CHECK(modeOf(world.file) == 0600);
    CHECK(modeOf(world.file.string() + "-wal") == 0600);
    CHECK(modeOf(world.file.string() + "-shm") == 0600);
    CHECK(modeOf(sidecarOf(world)) == 0600);
  }
}

TEST_CASE("fileMode gives a group its rights, and a file that is there keeps its own") {
  const Mask masked(0077);
  StoreWorld world;
  world.options.fileMode = 0660;
  world.open();
  CHECK(modeOf(world.file) == 0660);
  CHECK(modeOf(sidecarOf(world)) == 0660);
  world.options.fileMode = 0600;
  world.open();
  CHECK(modeOf(world.file) == 0660);
}

TEST_CASE("a sidecar that is not as its database is made so, and a database of another user gets it as its own") {
  StoreWorld world;
  world.open();
  REQUIRE(chmod(world.file.c_str(), 0640) == 0);
  if (getuid() == 0) {
    REQUIRE(chown(world.file.c_str(), kNobody, kNobody) == 0);
    std::filesystem::remove(sidecarOf(world));
  }
  world.open();
  CHECK(modeOf(sidecarOf(world)) == 0640);
  CHECK(ownerOf(sidecarOf(world)) == ownerOf(world.file));
}

TEST_CASE("P11: a link in the sidecar's place is not followed, and says how to go on") {
  StoreWorld world;
  const std::filesystem::path victim = world.directory.file("victim");
  std::filesystem::create_symlink(victim, sidecarOf(world));
  try {
    world.open();
    FAIL("a link was followed");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("symbolic link, which is not followed: remove it") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(victim));
}

TEST_CASE("who only looks at the file of a killed process leaves file and log byte for byte as they were") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const std::filesystem::path folder = world.directory.file("killed");
  killed(world, folder);
  const auto before = contents(folder);
  REQUIRE_FALSE(before.at("agent.db-wal").empty());
  for (int time = 0; time < 2; ++time) {
    const OutboxReader reader = OutboxReader::open(folder / "agent.db", world.options);
    CHECK(reader.getStats().pending == 1);
    CHECK(reader.verify().clean());
  }
  CHECK(contents(folder) == before);
}

TEST_CASE("who only looks at a file that was closed leaves nothing beside it") {
  StoreWorld world;
  enqueueOne(*world.open(), frameOf("s"));
  const auto before = contents(world.directory.file(""));
  CHECK(OutboxReader::open(world.file, world.options).getStats().pending == 1);
  CHECK(contents(world.directory.file("")) == before);
  CHECK_FALSE(std::filesystem::exists(world.file.string() + "-shm"));
}

TEST_CASE("a user who may only read sees the file while the agent is down") {
  StoreWorld world;
  world.options.fileMode = 0644;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store.reset();
  const std::filesystem::path folder = world.file.parent_path();
  std::filesystem::permissions(folder, std::filesystem::perms(0555));
  CHECK(asNobody([&] {
          const OutboxReader reader = OutboxReader::open(world.file, world.options);
          return static_cast<int>(reader.getStats().pending + (reader.verify().clean() ? 10U : 0U));
        }) == 11);
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
}

}  // namespace permissions_test
