// Goal: several processes work on one file: each message is settled once, each session keeps its order, no process
// takes another's claims or waits for another, and a killed process is replaced at once. Method: four real processes,
// two that claim by hand and two that run, feed and deliver into one ledger, and are killed with SIGKILL one after the
// other; then each gets a turn alone, and the ledger is read. A stopped process with claims keeps them, and the others
// do not wait for it. ACKBOX_TEST_SCALE=4 is the long form: 80 kills, 33,600 messages.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "child.hpp"
#include "hardships.hpp"
#include "shared_ledger.hpp"
#include "support/temp_dir.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For a process that hangs.
constexpr std::chrono::seconds kPatience{240};
constexpr std::size_t kWorkers = 4;
constexpr std::uint64_t kSessions = 50;
// The messages that each life of a worker enqueues.
constexpr std::uint64_t kLifesMessages = 400;

double scale() {
  const char* const given = std::getenv("ACKBOX_TEST_SCALE");
  return given == nullptr ? 1.0 : std::atof(given);
}

ackbox::OutboxManager openOutbox(const std::filesystem::path& database) {
  ackbox::OutboxOptions options;
  options.busyTimeout = std::chrono::seconds(20);
  return ackbox::OutboxManager::open(database, options);
}

class Workers {
public:
  explicit Workers(std::uint64_t seed) : random_(seed) {
    SQLite::Database connection(database().string(), SQLite::OPEN_READWRITE, 5000);
    connection.exec("CREATE TABLE fed(worker TEXT PRIMARY KEY, reached INTEGER NOT NULL)");
    for (std::size_t index = 0; index < kWorkers; ++index) {
      connection.exec("INSERT INTO fed VALUES('w" + std::to_string(index) + "', 0)");
      children_.emplace_back();
      launch(index);
    }
  }

  // Kills one worker after the other, each after a drawn part of the remaining work; its next life adds more. So the
  // work lasts until the kills are done, at any speed of the machine. Some workers die before they are ready.
  void killOver(std::size_t kills) {
    const auto deadline = steady_clock::now() + std::chrono::ceil<milliseconds>(kPatience * std::max(1.0, scale()));
    std::uniform_int_distribution<std::uint64_t> draw(0, kLifesMessages);
    for (std::size_t kill = 0; kill < kills; ++kill) {
      const std::size_t victim = random_() % kWorkers;
      const std::uint64_t until = std::min(watcher_.getStats().acked + draw(random_), messages());
      awaitAcked(until, victim, deadline);
      ledger_.killing(life(victim));
      children_[victim].back().kill();
      launch(victim);
    }
    awaitAcked(messages(), 0, deadline);
    for (std::size_t index = 0; index < kWorkers; ++index) {
      end(index);
    }
  }

  // Stops workers, one or two at a time, each for up to `longest`, while the others go on. All live to the end of their
  // work.
  void pauseOver(std::size_t pauses, milliseconds longest) {
    const auto deadline = steady_clock::now() + std::chrono::ceil<milliseconds>(kPatience * std::max(1.0, scale()));
    std::uniform_int_distribution<std::int64_t> time(1, longest.count());
    for (std::size_t pause = 0; pause < pauses; ++pause) {
      {
        main_job::Child& one = children_[random_() % kWorkers].back();
        const crash::Stopped first(one.id());
        const crash::Stopped second(children_[random_() % kWorkers].back().id());
        REQUIRE_FALSE(one.endsWithin(milliseconds(time(random_))));
      }
      // If all work is done, adds more.
      if (watcher_.getStats().acked == messages()) {
        const std::size_t index = random_() % kWorkers;
        end(index);
        launch(index);
      }
    }
    awaitAcked(messages(), 0, deadline);
    for (std::size_t index = 0; index < kWorkers; ++index) {
      end(index);
    }
  }

  // Gives each worker one message while it is alone: beside the others, the scheduler decides which worker gets a turn.
  void giveEachATurn() {
    for (std::size_t index = 0; index < kWorkers; ++index) {
      launch(index, 0);
      watcher_.enqueue("session-" + std::to_string(index), "com.example.fed", "\"a turn\"");
      ++turns_;
      awaitAcked(messages(), index, steady_clock::now() + kPatience);
      end(index);
    }
  }

  [[nodiscard]] std::filesystem::path database() const { return directory_.file("shared.db"); }
  [[nodiscard]] std::filesystem::path ledger() const { return directory_.file("ledger"); }

  // The number of messages that are enqueued, or will be by the current lives.
  [[nodiscard]] std::uint64_t messages() const { return std::accumulate(fed_.begin(), fed_.end(), turns_); }

private:
  [[nodiscard]] std::string life(std::size_t index) const {
    return "w" + std::to_string(index) + "." + std::to_string(children_[index].size());
  }

  void launch(std::size_t index, std::uint64_t more = kLifesMessages) {
    fed_[index] += more;
    const std::string next = "w" + std::to_string(index) + "." + std::to_string(children_[index].size() + 1);
    children_[index].emplace_back(
        AGENT_PROGRAM, std::vector<std::string>{next, database().string(), ledger().string(),
                                                std::to_string(fed_[index]), index % 2 == 0 ? "pull" : "push"});
  }

  void end(std::size_t index) {
    main_job::Child& last = children_[index].back();
    REQUIRE(last.readLine(kPatience) == "ready");
    CHECK(last.terminate(kPatience) == 0);
  }

  // Waits until `count` messages are acknowledged; `running` must not end meanwhile.
  void awaitAcked(std::uint64_t count, std::size_t running, const steady_clock::time_point& deadline) {
    while (watcher_.getStats().acked < count) {
      REQUIRE_MESSAGE(steady_clock::now() < deadline, "the workers did not finish");
      REQUIRE_FALSE(children_[running].back().endsWithin(milliseconds(1)));
    }
  }

  const ackbox::testing::TempDir directory_;
  // Opened before the workers start: beside four that write without a pause, an opening would wait until they are done.
  ackbox::OutboxManager watcher_ = openOutbox(database());
  std::mt19937_64 random_;
  std::uint64_t turns_ = 0;
  // For each worker, the number up to which it enqueues.
  std::array<std::uint64_t, kWorkers> fed_{};
  crash::SharedLedger ledger_{directory_.file("ledger")};
  // The lives of each worker.
  std::vector<std::vector<main_job::Child>> children_;
};

// Whether the kernel reports the process as stopped.
bool stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name = text.rfind(')');
  return name != std::string::npos && text.substr(name, 3) == ") T";
}

}  // namespace

TEST_CASE("row 3: four processes, killed over and over, settle each message once and keep each session's order") {
  constexpr std::uint64_t kSeed = 7;
  const auto kills = static_cast<std::size_t>(20 * scale());
  MESSAGE("seed " << kSeed << ", SIGKILLs " << kills);
  Workers workers(kSeed);
  workers.killOver(kills);
  workers.giveEachATurn();
  const std::uint64_t all = workers.messages();

  crash::SharedAccount account;
  account.read(workers.ledger());
  const ackbox::OutboxManager outbox = openOutbox(workers.database());
  const ackbox::Stats stats = outbox.getStats();
  MESSAGE("messages " << all << ", effects " << account.effects << ", of them repeated " << account.repeated
                      << ", stale settles " << stats.staleSettles);
  CHECK(stats.enqueued == all);
  CHECK(stats.acked == all);
  CHECK(stats.pending + stats.sending + stats.sent + stats.failed == 0);
  CHECK(stats.totalRetries == 0);
  CHECK(account.overlaps == 0);
  CHECK(account.reordered == 0);
  CHECK(account.settledTwice == 0);
  CHECK(account.late == 0);
  CHECK(account.workers.size() == kWorkers);
  CHECK(account.effects == all + account.repeated);
  CHECK(account.reached.size() == kSessions);
  std::uint64_t last = 0;
  for (const auto& session : account.reached) {
    last += session.second;
  }
  CHECK(last == all);
  CHECK(ackbox::OutboxReader(outbox).verify().findings.empty());
}

TEST_CASE("row 3: a process that is stopped with claims in its hands is not robbed, and blocks nobody else") {
  const ackbox::testing::TempDir directory;
  const std::filesystem::path database = directory.file("shared.db");
  ackbox::OutboxManager manager = openOutbox(database);
  constexpr std::size_t kStopSessions = 8;
  for (std::size_t round = 0; round < 2; ++round) {
    for (std::size_t index = 0; index < kStopSessions; ++index) {
      manager.enqueue("session-" + std::to_string(index), "com.example.event", std::to_string(round));
    }
  }
  SQLite::Database(database.string(), SQLite::OPEN_READWRITE, 5000)
      .exec("CREATE TABLE fed(worker TEXT PRIMARY KEY, reached INTEGER NOT NULL)");
  main_job::Child holder(AGENT_PROGRAM, {"w0.1", database.string(), directory.file("ledger").string(), "0", "hold"});
  REQUIRE(holder.readLine(kPatience) == "ready");
  REQUIRE(holder.readLine(kPatience) == "held 5");
  const auto deadline = steady_clock::now() + kPatience;
  while (!stopped(holder.id())) {
    REQUIRE(steady_clock::now() < deadline);
    std::this_thread::yield();
  }

  // The claims of held sessions remain with their holder, whatever this process does.
  std::size_t settled = 0;
  for (std::size_t round = 0; round < 50; ++round) {
    CHECK(ackbox::PullConsumer(manager).recoverStuck(milliseconds(0)).deadOwners == 0);
    for (const ackbox::Claim& claim : ackbox::PullConsumer(manager).claim(kStopSessions)) {
      CHECK(ackbox::PullConsumer(manager).settle(claim, ackbox::Outcome::ack) == ackbox::SettleStatus::settled);
      ++settled;
    }
  }
  CHECK(settled == 6);
  CHECK(manager.getStats().sending == 5);

  kill(holder.id(), SIGCONT);
  CHECK(holder.readLine(kPatience) == "settled 5 late 0");
  REQUIRE(holder.endsWithin(kPatience));
  // The sessions are free again, and their second messages follow.
  while (settled < 2 * kStopSessions - 5) {
    REQUIRE(steady_clock::now() < deadline);
    for (const ackbox::Claim& claim : ackbox::PullConsumer(manager).claim(kStopSessions)) {
      CHECK(ackbox::PullConsumer(manager).settle(claim, ackbox::Outcome::ack) == ackbox::SettleStatus::settled);
      ++settled;
    }
  }
  CHECK(manager.getStats().acked == 2 * kStopSessions);
  CHECK(manager.getStats().staleSettles == 0);
}

TEST_CASE("row 3: P7: four processes that are stopped now and then are not robbed: each message has one effect") {
  constexpr std::uint64_t kSeed = 8;
  const auto pauses = static_cast<std::size_t>(10 * scale());
  const milliseconds longest(scale() >= 10 ? 10'000 : 700);
  MESSAGE("seed " << kSeed << ", pauses " << pauses << " of up to " << longest.count() << " ms");
  Workers workers(kSeed);
  workers.pauseOver(pauses, longest);
  const std::uint64_t all = workers.messages();

  crash::SharedAccount account;
  account.read(workers.ledger());
  const ackbox::OutboxManager outbox = openOutbox(workers.database());
  const ackbox::Stats stats = outbox.getStats();
  MESSAGE("messages " << all << ", effects " << account.effects << ", stale settles " << stats.staleSettles);
  CHECK(account.effects == all);
  CHECK(account.repeated == 0);
  CHECK(account.overlaps == 0);
  CHECK(account.reordered == 0);
  CHECK(account.settledTwice == 0);
  CHECK(account.late == 0);
  CHECK(stats.acked == all);
  CHECK(stats.staleSettles == 0);
  CHECK(stats.totalRetries == 0);
  CHECK(ackbox::OutboxReader(outbox).verify().findings.empty());
}
