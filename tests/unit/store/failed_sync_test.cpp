// Goal: P1, a sync that fails, after which the kernel forgets what it should have written and reports success, costs
// nothing that was acknowledged, and an outbox goes on by itself when the disk is well.
// Method: managers on a disk in memory whose failing syncs forget. After the last acknowledgement the power is cut,
// what was not synced is gone, and the file is opened on the rest.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "forgetting_machine.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store_world.hpp"
#include "support/memory_disk.hpp"
#include "support/resource_limit.hpp"
#include "support/scripted_sender.hpp"

namespace failed_sync_test {

using namespace ackbox;
using namespace ackbox::testing;

using Machine = ForgettingMachine;

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
      machine.settleOne(round % 2 == 0 ? *one : *other);
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
  machine.rest();
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
  for (int round = 0; round < 40; ++round) {
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
  CHECK_FALSE(machine.enqueue(*manager));
  // A checkpoint would succeed now.
  machine.failsAll = false;
  for (int round = 0; round < 20; ++round) {
    machine.settleOne(*manager);
  }
  // Nothing was folded from a log that may have a hole.
  CHECK(machine.disk.files()[machine.file()] == before);

  machine.rest();
  for (int round = 0; round < 10; ++round) {
    CHECK(machine.enqueue(*manager));
    CHECK(machine.lost() == 0);
  }
}

TEST_CASE("P1: a file whose log is doubtful is mended by whoever opens it next, or not opened") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  machine.enqueue(*manager);
  // Not synced: the hole.
  machine.settleOne(*manager);
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
  machine.rest();
  CHECK_FALSE(machine.enqueue(*manager));
  machine.rest();
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
  for (const bool failsFirst : {false, true}) {
    Machine next(machine);
    if (failsFirst) {
      next.failsAll = true;
      CHECK_THROWS_AS(static_cast<void>(next.open()), Error);
      next.failsAll = false;
    }
    const auto started = next.open();
    for (int round = 0; round < 5; ++round) {
      CHECK(next.enqueue(*started));
      CHECK(next.lost() == 0);
    }
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

TEST_CASE("P1: others see that a log is doubtful before they can open the file") {
  /// Whether another connection could write when the doubt was shown first.
  class Watching final : public store::sqlite::Liveness {
  public:
    void hold(std::int64_t /*owner*/) override {}
    bool alive(std::int64_t /*owner*/) const override { return true; }
    bool showDoubt(bool isDoubtful) noexcept override {
      if (isDoubtful && other != nullptr && !couldWrite) {
        couldWrite = sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
        sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
      }
      return true;
    }
    bool showsDoubt() const noexcept override { return false; }

    sqlite3* other = nullptr;
    std::optional<bool> couldWrite;
  };
  for (const bool batched : {true, false}) {
    CAPTURE(batched);
    Machine machine;
    machine.disk.sparesNeighbours = batched;
    const auto liveness = std::make_shared<Watching>();
    store::sqlite::SqliteStore store({machine.file(), machine.options(), liveness});
    SQLite::Database other(machine.file(), SQLite::OPEN_READWRITE, 0, machine.disk.name());
    REQUIRE(other.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() > 0);
    liveness->other = other.getHandle();
    machine.failing.insert(machine.syncs + 1);
    store.begin(true);
    store.outbox().enqueue(frameOf("s"));
    CHECK_THROWS_AS(store.commit(), Error);
    REQUIRE(liveness->couldWrite.has_value());
    CHECK_FALSE(*liveness->couldWrite);
  }
}

TEST_CASE("P1: a repair whose sync failed leaves a log that others see to be doubtful") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  // Not synced: the hole.
  machine.settleOne(*manager);
  machine.failsAll = true;
  CHECK_THROWS_AS(
      static_cast<void>(store::sqlite::SqliteStore::repairFile({machine.file(), machine.options(), nullptr}, false)),
      Error);
  machine.failsAll = false;
  const auto later = machine.open();
  for (int round = 0; round < 3; ++round) {
    CHECK(machine.enqueue(*later));
    CHECK(machine.lost() == 0);
  }
}

TEST_CASE("P13: that others cannot see a doubtful log is reported, with what to do") {
  Machine machine;
  const auto manager = machine.open();
  machine.enqueue(*manager);
  machine.failsAll = true;
  bool isAcknowledged = true;
  // As on a disk that has become read-only.
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  {
    const ResourceLimit nothingGrows(RLIMIT_FSIZE, 0);
    isAcknowledged = machine.enqueue(*manager);
  }
  std::signal(SIGXFSZ, handler);
  CHECK_FALSE(isAcknowledged);
  REQUIRE(machine.reports->size() == 2);
  CHECK(machine.reports->back().find("start none that opens the file") != std::string::npos);
  CHECK(machine.reports->back().find("agent.db-ackbox-owners") != std::string::npos);
  CHECK_FALSE(machine.enqueue(*manager));
  machine.failsAll = false;
  machine.rest();
  CHECK(machine.enqueue(*manager));
  CHECK(machine.lost() == 0);
}

TEST_CASE("P13: that the disk is well is reported last, also where another thread learns it during the first report") {
  Machine machine;
  std::vector<bool> reported;
  const auto manager = machine.open();
  machine.failsAll = true;
  const Subscription first = manager->onHealth([&](const HealthEvent& event) {
    if (event.raised) {
      machine.failsAll = false;
      machine.rest();
      std::thread([&] { CHECK(machine.enqueue(*manager)); }).join();
    }
  });
  const Subscription second = manager->onHealth([&](const HealthEvent& event) { reported.push_back(event.raised); });
  CHECK_FALSE(machine.enqueue(*manager));
  CHECK(reported == std::vector<bool>{true, false});
}

TEST_CASE("P1: a reader that closes a file last folds no doubtful log into it") {
  Machine machine;
  auto store = std::make_unique<store::sqlite::SqliteStore>(
      store::sqlite::StoreOptions{machine.file(), machine.options(), nullptr});
  machine.failsAll = true;
  store->begin(true);
  store->outbox().enqueue(frameOf("s"));
  CHECK_THROWS_AS(store->commit(), Error);
  // The kernel reports nothing to those that come later.
  auto reader = std::make_unique<store::sqlite::SqliteReader>(machine.file(), machine.options());
  machine.disk.onCall = [](DiskCall call, const std::string&) {
    return call == DiskCall::write ? SQLITE_IOERR_WRITE : SQLITE_OK;
  };
  store.reset();
  machine.disk.onCall = {};
  const DiskFiles before = machine.disk.files();
  reader.reset();
  CHECK(machine.disk.files() == before);
}

TEST_CASE("P1: a disk that goes on failing is not written to by each call, but ten times a second") {
  Machine machine;
  const auto manager = machine.open();
  for (int round = 0; round < 40; ++round) {
    machine.enqueue(*manager);
  }
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(*manager));
  std::size_t before = machine.syncs;
  const std::size_t changes = machine.record->length();
  for (int round = 0; round < 20; ++round) {
    CHECK_FALSE(machine.enqueue(*manager));
  }
  CHECK(machine.syncs == before);
  CHECK(machine.record->length() == changes);
  for (int round = 0; round < 5; ++round) {
    machine.rest();
    before = machine.syncs;
    CHECK_FALSE(machine.enqueue(*manager));
    CHECK_FALSE(machine.enqueue(*manager));
    CHECK(machine.syncs == before + 1);
  }
}

TEST_CASE("P1: the poll of a run mends the doubtful log of a file in which nothing happens") {
  Machine machine;
  boost::asio::io_context context;
  OutboxOptions options = machine.options();
  options.storeExecutor = [&context](std::function<void()> work) { boost::asio::post(context, std::move(work)); };
  OutboxManager manager = OutboxManager::open(machine.file(), options);
  manager.setSender(std::make_shared<ScriptedSender>([](const SendRequest&) { return SendReport{}; }));
  manager.start();
  const auto passTime = [&] {
    machine.clock->advance(std::chrono::seconds(1));
    context.restart();
    context.poll();
  };
  passTime();
  machine.enqueue(manager);
  machine.failsAll = true;
  CHECK_FALSE(machine.enqueue(manager));
  machine.failsAll = false;
  const std::size_t before = machine.syncs;
  passTime();
  passTime();
  CHECK(machine.syncs > before);
  REQUIRE_FALSE(machine.reports->empty());
  CHECK(machine.reports->back().find("the disk syncs the file again") != std::string::npos);
  manager.stop();
  context.restart();
  context.poll();
}

TEST_CASE("P1: a message whose enqueue was refused by a failed sync is not sent after its process died") {
  for (const bool batched : {true, false}) {
    CAPTURE(batched);
    Machine machine;
    machine.disk.sparesNeighbours = batched;
    const auto manager = machine.open();
    machine.enqueue(*manager);
    machine.settleOne(*manager);
    machine.enqueue(*manager);
    machine.failsAll = true;
    // Of several pages.
    CHECK_THROWS_AS(static_cast<void>(manager->enqueue(frameOf("s0", '"' + std::string(30'000, 'x') + '"', "refused"))),
                    Error);
    Machine later(machine);
    later.disk.sparesNeighbours = batched;
    const auto reopened = later.open();
    CHECK_FALSE(reopened->find("refused").has_value());
    for (const std::string& id : later.acknowledged) {
      CHECK(reopened->find(id).has_value());
    }
    // Nor is it taken for a loss.
    CHECK(OutboxReader(*reopened).verify().logCutShort.empty());
    CHECK(later.enqueue(*reopened));
    CHECK(later.lost() == 0);
  }
}

}  // namespace failed_sync_test
