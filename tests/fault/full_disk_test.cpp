// Goal: a disk that only the log fills stops no process: a checkpoint empties the log, and the same call goes on (P1,
// P3). A disk that stays full is reported as such, and is not written to by each attempt.
// Method: a disk in memory with a chosen size, and a manual clock. Messages are acknowledged at once, so that the file
// keeps its size and only the log grows.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_disk.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing::full_disk_test {
namespace {

// The file takes less than half of it, and the log alone would grow to 16 MB.
constexpr std::size_t kDiskBytes = 1'000'000;
constexpr std::chrono::seconds kPause{1};

std::size_t bytesOf(const DiskFiles& files) {
  std::size_t bytes = 0;
  for (const auto& file : files) {
    bytes += file.second.size();
  }
  return bytes;
}

struct SmallDisk {
  explicit SmallDisk(DiskFiles files = {}) : disk(std::move(files)) {
    disk.onCall = [this](DiskCall call, const std::string& path) {
      folds += call == DiskCall::sync && !path.ends_with("-wal") ? 1 : 0;
      return SQLITE_OK;
    };
    options.vfs = disk.name();
    options.clock = clock;
    options.random = seededRandom(1);
  }

  /// Makes a file that has its pages, some of them free, and no log.
  void openUsed() {
    open();
    for (int count = 0; count < 20; ++count) {
      REQUIRE_FALSE(enqueue('"' + std::string(5'000, 'x') + '"'));
    }
    manager->processAll();
    manager.reset();
    open();
  }

  void open() {
    manager.emplace(OutboxManager::open(file, options));
    manager->setSender(ScriptedSender::always(Outcome::ack));
  }

  std::error_code enqueue(const std::string& data = "\"x\"") {
    try {
      manager->enqueue("s", "t", data);
    } catch (const Error& error) {
      return error.code();
    }
    ++accepted;
    return {};
  }

  /// Fills the disk, with a reader that prevents checkpoints, and returns the files as a kill would leave them.
  DiskFiles filledByLog() {
    openUsed();
    const SQLite::Database reader(file.string(), SQLite::OPEN_READONLY, 0, disk.name());
    SQLite::Statement held(reader, "SELECT count(*) FROM ackbox_outbox");
    REQUIRE(held.executeStep());
    disk.capacity = kDiskBytes;
    while (!enqueue()) {
    }
    return disk.files();
  }

  const TempDir folder;
  std::filesystem::path file = folder.file("agent.db");
  MemoryDisk disk;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxOptions options;
  std::optional<OutboxManager> manager;
  std::uint64_t accepted = 0;
  /// Syncs of the file itself: one for each checkpoint.
  int folds = 0;
};

TEST_CASE("P1 P3: a log that fills the disk is folded in, again and again, and no call fails") {
  SmallDisk small;
  small.openUsed();
  small.disk.capacity = kDiskBytes;
  for (int count = 0; count < 2'000; ++count) {
    REQUIRE_FALSE(small.enqueue());
    REQUIRE_NOTHROW(small.manager->drainOnce());
  }
  CHECK(small.folds > 5);
  CHECK(bytesOf(small.disk.files()) <= kDiskBytes);
  CHECK(small.manager->getStats().acked == small.accepted);
  CHECK(OutboxReader(*small.manager).verify().clean());
}

TEST_CASE(
    "P3: on a disk that stays full, calls fail with diskFull, the log is folded in once a while, and nothing is lost") {
  SmallDisk small;
  small.open();
  const std::string large = '"' + std::string(100'000, 'x') + '"';
  small.disk.capacity = bytesOf(small.disk.files());
  // The file would have to grow, and the disk has no room for it.
  std::error_code failure;
  while (!(failure = small.enqueue(large))) {
  }
  CHECK(failure == Errc::diskFull);
  small.folds = 0;
  for (int round = 0; round < 5; ++round) {
    for (int count = 0; count < 20; ++count) {
      CHECK(small.enqueue(large) == Errc::diskFull);
    }
    small.clock->advance(kPause);
  }
  CHECK(small.folds <= 5);
  small.disk.capacity = 2 * kDiskBytes;
  CHECK_FALSE(small.enqueue(large));
  small.manager->processAll();
  CHECK(small.manager->getStats().acked == small.accepted);
  CHECK(OutboxReader(*small.manager).verify().clean());
}

TEST_CASE("a reader that needs the log keeps it: calls fail until it ends, and then go on") {
  SmallDisk small;
  small.openUsed();
  small.disk.capacity = kDiskBytes;
  {
    const SQLite::Database reader(small.file.string(), SQLite::OPEN_READONLY, 0, small.disk.name());
    SQLite::Statement held(reader, "SELECT count(*) FROM ackbox_sessions");
    REQUIRE(held.executeStep());
    std::error_code failure;
    while (!(failure = small.enqueue())) {
      CHECK(small.accepted < 2'000);
    }
    CHECK(failure == Errc::diskFull);
    small.clock->advance(kPause);
    CHECK(small.enqueue() == Errc::diskFull);
  }
  // Only after the pause.
  CHECK(small.enqueue() == Errc::diskFull);
  small.clock->advance(kPause);
  CHECK_FALSE(small.enqueue());
  CHECK(OutboxReader(*small.manager).verify().clean());
}

TEST_CASE("P3: a process that comes after one that was killed opens the file, though the log fills the disk") {
  SmallDisk before;
  SmallDisk after(before.filledByLog());
  // The paths of the first disk are in the other folder.
  after.file = before.file;
  after.disk.capacity = kDiskBytes;
  REQUIRE_NOTHROW(after.open());
  CHECK(after.folds > 0);
  CHECK(after.manager->getStats().enqueued == before.accepted);
  CHECK_FALSE(after.enqueue());
}

TEST_CASE("vacuum folds the log in before it writes to it") {
  SmallDisk small;
  small.open();
  small.enqueue('"' + std::string(50'000, 'x') + '"');
  small.manager->processAll();
  small.folds = 0;
  CHECK(OutboxOperator(*small.manager).vacuum() > 5);
  CHECK(small.folds == 2);
  for (const auto& file : small.disk.files()) {
    CAPTURE(file.first);
    CHECK((!file.first.ends_with("-wal") || file.second.empty()));
  }
}

}  // namespace
}  // namespace ackbox::testing::full_disk_test
