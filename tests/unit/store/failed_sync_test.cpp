// Goal: P1, a sync that fails, after which the kernel forgets what it should have written and reports success, costs
// nothing that was acknowledged, and an outbox goes on by itself when the disk is well.
// Method: managers on a disk in memory whose failing syncs forget. After the last acknowledgement the power is cut,
// what was not synced is gone, and the file is opened on the rest.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "store_world.hpp"
#include "support/crash_images.hpp"
#include "support/memory_disk.hpp"

namespace failed_sync_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

DiskFiles moved(const DiskFiles& files, const std::string& from, const std::string& to) {
  DiskFiles result;
  for (const auto& [path, bytes] : files) {
    result.emplace(to + path.substr(from.size()), bytes);
  }
  return result;
}

/// One machine: its disk, what of it is safe, and the messages whose enqueue has returned.
struct Machine {
  Machine() : Machine({}, {}) {}
  /// The same after all processes died, the machine did not.
  explicit Machine(const Machine& killed) : Machine(killed.disk.files(), killed.image(), killed.file()) {
    acknowledged = killed.acknowledged;
    said = killed.said;
  }
  Machine(const DiskFiles& inMemory, const DiskFiles& onDisk, const std::string& from = {})
      : safe(moved(onDisk, from, file())), disk(moved(inMemory, from, file()), record) {
    disk.forgets = true;
    disk.onCall = [this](DiskCall call, const std::string& path) {
      if (call != DiskCall::sync || (!failingFile.empty() && !path.ends_with(failingFile))) {
        return SQLITE_OK;
      }
      ++syncs;
      return failing.contains(syncs) || failsAll ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    };
  }

  OutboxOptions options() const {
    OutboxOptions made;
    made.vfs = disk.name();
    made.clock = clock;
    made.random = seededRandom(7);
    made.checkpointPages = checkpointPages;
    made.log = [kept = reports](const LogRecord& one) {
      if (one.event == "unwell" || one.event == "well-again") {
        kept->emplace_back(one.text);
      }
    };
    return made;
  }
  std::string file() const { return folder.file("agent.db").string(); }
  std::unique_ptr<OutboxManager> open() const {
    return std::make_unique<OutboxManager>(OutboxManager::open(file(), options()));
  }

  /// Whether it was acknowledged.
  bool enqueue(OutboxManager& manager) {
    const std::string id = "m" + std::to_string(++said);
    try {
      static_cast<void>(
          manager.enqueue(frameOf("s" + std::to_string(said % 3), '"' + std::string(900, 'x') + '"', id)));
    } catch (const Error& error) {
      CHECK(error.code() == Errc::ioError);
      return false;
    }
    acknowledged.insert(id);
    return true;
  }

  /// Claims and settles, of which none is synced: they make holes.
  void settleOne(OutboxManager& manager) {
    PullConsumer consumer(manager);
    for (const Claim& claim : consumer.claim(1)) {
      static_cast<void>(consumer.settle(claim, Outcome::ack));
      acknowledged.erase(claim.frame.messageId);
    }
    manager.stop();
  }

  /// What a power cut leaves now.
  DiskFiles image() const {
    DiskHistory history(safe);
    for (const DiskOperation& operation : record->operations()) {
      history.apply(operation);
    }
    return history.image({Survival::Rule::none});
  }

  /// How many acknowledged messages a power cut would lose now.
  std::size_t lost() const {
    const TempDir elsewhere;
    const std::string there = elsewhere.file("agent.db").string();
    const MemoryDisk rest(moved(image(), file(), there));
    OutboxOptions made = options();
    made.vfs = rest.name();
    const OutboxManager manager = OutboxManager::open(there, made);
    std::size_t count = 0;
    CHECK(OutboxReader(manager).verify().clean());
    for (const std::string& id : acknowledged) {
      count += manager.find(id).has_value() ? 0 : 1;
    }
    return count;
  }

  TempDir folder;
  DiskFiles safe;
  std::shared_ptr<DiskRecord> record = std::make_shared<DiskRecord>();
  MemoryDisk disk;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::uint32_t checkpointPages = 4'000;
  std::size_t said = 0;
  std::set<std::string> acknowledged;
  // What the log has of the process's health.
  std::shared_ptr<std::vector<std::string>> reports = std::make_shared<std::vector<std::string>>();

  // The syncs that fail, of the file whose name ends so.
  std::string failingFile = {};
  std::size_t syncs = 0;
  std::set<std::size_t> failing;
  bool failsAll = false;
};

}  // namespace

TEST_CASE("P1: what is enqueued after a sync that failed and forgot survives a power cut") {
  std::size_t lost = 0;
  std::size_t acknowledged = 0;
  for (const bool batched : {true, false}) {
    for (const std::uint32_t checkpointPages : {4'000U, 12U}) {
      for (const std::uint64_t seed : {0U, 1U, 2U}) {
        Machine machine;
        machine.disk.sparesNeighbours = batched;
        machine.disk.forgetSeed = seed;
        machine.checkpointPages = checkpointPages;
        const auto manager = machine.open();
        for (int round = 0; round < 6; ++round) {
          machine.enqueue(*manager);
          machine.settleOne(*manager);
        }
        machine.failing.insert(machine.syncs + 1);
        const std::size_t before = machine.acknowledged.size();
        for (int round = 0; round < 18; ++round) {
          machine.enqueue(*manager);
          if (round % 4 == 0) {
            CHECK(machine.lost() == 0);
          }
        }
        CHECK(machine.acknowledged.size() >= before + 17);
        lost += machine.lost();
        acknowledged += machine.acknowledged.size();
      }
    }
  }
  MESSAGE("lost " << lost << " of " << acknowledged << " acknowledged messages");
  CHECK(lost == 0);
}

TEST_CASE("P1: of two that have a file open, each acknowledges only what survives a failed sync of the other") {
  for (std::size_t failing = 1; failing <= 6; ++failing) {
    CAPTURE(failing);
    Machine machine;
    const auto one = machine.open();
    const auto other = machine.open();
    for (int round = 0; round < 3; ++round) {
      machine.enqueue(*one);
      machine.settleOne(*other);
      machine.enqueue(*other);
    }
    machine.failing.insert(machine.syncs + failing);
    std::size_t refused = 0;
    for (int round = 0; round < 12; ++round) {
      refused += machine.enqueue(round % 3 == 0 ? *one : *other) ? 0U : 1U;
      CHECK(machine.lost() == 0);
    }
    // The kernel tells each that had the log open, once.
    CHECK(refused == 2);
  }
}

TEST_CASE("P13: a sync that failed is reported once with what to do, and so is the end of what follows from it") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  CHECK(machine.reports->empty());
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(*manager));
  CHECK_FALSE(machine.enqueue(*manager));
  REQUIRE(machine.reports->size() >= 1);
  CHECK(machine.reports->front().find("check the device") != std::string::npos);
  machine.failsAll = false;
  CHECK(machine.enqueue(*manager));
  CHECK(machine.enqueue(*manager));
  CHECK(machine.reports->back().find("the disk syncs the file again") != std::string::npos);
  const std::size_t reported = machine.reports->size();
  CHECK(machine.enqueue(*manager));
  CHECK(machine.reports->size() == reported);
}

TEST_CASE("P1: while the disk goes on failing nothing is acknowledged, and it goes on by itself afterwards") {
  Machine machine;
  machine.checkpointPages = 12;
  const auto manager = machine.open();
  for (int round = 0; round < 4; ++round) {
    machine.enqueue(*manager);
  }
  machine.failsAll = true;
  const std::string before = machine.disk.files()[machine.file()];
  for (int round = 0; round < 10; ++round) {
    CHECK_FALSE(machine.enqueue(*manager));
    try {
      machine.settleOne(*manager);
    } catch (const Error& error) {
      // A log that begins anew is synced.
      CHECK(error.code() == Errc::ioError);
    }
    machine.clock->advance(std::chrono::seconds(2));
  }
  // Nothing was folded from a log that may have a hole.
  CHECK(machine.disk.files()[machine.file()] == before);

  machine.failsAll = false;
  for (int round = 0; round < 10; ++round) {
    CHECK(machine.enqueue(*manager));
    CHECK(machine.lost() == 0);
  }
}

TEST_CASE("P1: a file whose log is doubtful is mended by whoever opens it next, or not opened") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  machine.settleOne(*manager);
  machine.enqueue(*manager);
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(*manager));
  // Those that come later are not told by the kernel.
  CHECK_THROWS_AS(static_cast<void>(machine.open()), Error);
  machine.failsAll = false;
  const auto later = machine.open();
  for (int round = 0; round < 5; ++round) {
    CHECK(machine.enqueue(*later));
    CHECK(machine.lost() == 0);
  }
  // It is told of what failed meanwhile.
  CHECK_FALSE(machine.enqueue(*manager));
  CHECK(machine.enqueue(*manager));
  CHECK(machine.lost() == 0);
}

TEST_CASE("P1: a process that starts after all died that knew of a doubtful log mends it, or does not open it") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  machine.settleOne(*manager);
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(*manager));
  Machine next(machine);
  next.failsAll = true;
  CHECK_THROWS_AS(static_cast<void>(next.open()), Error);
  next.failsAll = false;
  const auto started = next.open();
  for (int round = 0; round < 5; ++round) {
    CHECK(next.enqueue(*started));
    CHECK(next.lost() == 0);
  }
}

TEST_CASE("P1: a log that cannot be read back is written no more, and the next opening has what was acknowledged") {
  Machine machine;
  auto manager = machine.open();
  for (int round = 0; round < 4; ++round) {
    machine.enqueue(*manager);
  }
  machine.settleOne(*manager);
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(*manager));
  machine.failsAll = false;
  machine.disk.evict(machine.file() + "-wal", machine.image()[machine.file() + "-wal"]);
  CHECK_FALSE(machine.enqueue(*manager));
  CHECK_FALSE(machine.enqueue(*manager));
  CHECK(machine.lost() == 0);
  manager.reset();
  manager = machine.open();
  CHECK(OutboxReader(*manager).verify().clean());
  CHECK(machine.enqueue(*manager));
  CHECK(machine.lost() == 0);
}

TEST_CASE("P1: a checkpoint whose sync of the database failed is made again from the log") {
  for (std::size_t failing = 1; failing <= 4; ++failing) {
    CAPTURE(failing);
    Machine machine;
    machine.checkpointPages = 12;
    machine.failingFile = "agent.db";
    const auto manager = machine.open();
    machine.failing.insert(machine.syncs + failing);
    for (int round = 0; round < 60; ++round) {
      CHECK(machine.enqueue(*manager));
      if (round % 5 == 0) {
        CHECK(machine.lost() == 0);
      }
    }
    CHECK(machine.syncs > failing + 1);
  }
}

}  // namespace failed_sync_test
