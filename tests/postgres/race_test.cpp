// Goal: P4 P5 P7: several processes that enqueue to the same sessions and deliver them at once keep each session's
// order and lose nothing, while their connections are ended at any time.
// Method: threads with a store each, on a real server; a receiver that takes each number once, and no number before its
// predecessor; a thread that ends the server's processes of those that deliver.

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/random.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "support/postgres_database.hpp"

namespace race_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

/// What the peer has accepted.
class Receiver {
public:
  void take(delivery::SessionKey session, std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& mark = marks_[session];
    if (sequence == mark + 1) {
      mark = sequence;
      ++accepted_;
      changed_.notify_all();
    } else if (sequence > mark) {
      ++overtaken_;
    }
  }
  [[nodiscard]] std::size_t accepted() {
    const std::lock_guard lock(mutex_);
    return accepted_;
  }
  /// Until so many were accepted, or no more will be.
  void await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return accepted_ >= count || isOver_; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t overtaken() {
    const std::lock_guard lock(mutex_);
    return overtaken_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool isOver_ = false;
  std::map<delivery::SessionKey, std::uint64_t> marks_;
  std::size_t accepted_ = 0;
  std::size_t overtaken_ = 0;
};

struct Race {
  static constexpr int kSessions = 6;
  static constexpr int kMessagesEach = 150;

  void enqueue(int writer) {
    PostgresStore store(database.location(), options);
    const std::shared_ptr<Random> random = seededRandom(static_cast<std::uint64_t>(writer));
    for (int made = 0; made < kMessagesEach;) {
      try {
        store.begin(true);
        const int together = 1 + static_cast<int>(random->next() % 4);
        for (int message = 0; message < together; ++message) {
          Frame frame;
          frame.session = "s" + std::to_string(random->next() % kSessions);
          frame.type = "test";
          frame.data = "{}";
          store.outbox().enqueue(frame);
        }
        store.commit();
        made += together;
        enqueued += static_cast<std::size_t>(together);
      } catch (const Error& error) {
        // Two writers that wait for each other's session: one of them begins again.
        REQUIRE(error.code() == Errc::databaseBusy);
        if (store.inTransaction()) {
          store.rollback();
        }
      }
    }
    --writers;
  }

  void deliver() {
    PostgresStore store(database.location(), options);
    const auto process = processes.emplace(store.serverProcess());
    std::map<delivery::SessionKey, std::set<delivery::MessageKey>> rows;
    while (writers != 0 || receiver.accepted() < enqueued) {
      try {
        step(store, rows);
      } catch (const Error&) {
        if (store.inTransaction()) {
          store.rollback();
        }
        rows.clear();
        store.discovery().restart();
      }
      process.update(store.serverProcess());
    }
    receiver.end();
  }

  void step(PostgresStore& store, std::map<delivery::SessionKey, std::set<delivery::MessageKey>>& rows) {
    store.begin(false);
    store.owners().releaseDead();
    store.commit();
    for (const delivery::RowSeen& row : store.discovery().take(100).rows) {
      rows[row.session].insert(row.key);
    }
    std::vector<delivery::SessionClaim> wanted;
    for (const auto& [session, keys] : rows) {
      if (!keys.empty()) {
        wanted.push_back({session, {keys.begin(), std::next(keys.begin(), std::min<long>(3, std::ssize(keys)))}});
      }
    }
    if (wanted.empty()) {
      return;
    }
    store.begin(false);
    const store::ClaimReply reply = store.claims().claim(wanted);
    store.commit();
    std::vector<delivery::Settlement> settlements;
    std::vector<delivery::SessionRelease> releases;
    for (std::size_t index = 0; index < reply.sessions.size(); ++index) {
      const delivery::SessionClaimed& claimed = reply.sessions[index];
      if (claimed.status != delivery::ClaimStatus::claimed) {
        continue;
      }
      std::set<delivery::MessageKey>& keys = rows[claimed.session];
      if (claimed.rows.empty()) {
        // Another process has delivered them.
        for (const delivery::MessageKey key : wanted[index].keys) {
          keys.erase(key);
        }
        continue;
      }
      for (const delivery::ClaimedRow& row : claimed.rows) {
        receiver.take(claimed.session, row.sequence);
        settlements.push_back({.key = row.key,
                               .session = claimed.session,
                               .attempt = row.attempt,
                               .transition = delivery::Transition::ack});
        keys.erase(row.key);
      }
      releases.push_back({.session = claimed.session, .previousSequence = claimed.rows.back().sequence});
    }
    store.begin(false);
    for (const auto& settled : store.settles().settle(settlements)) {
      stale += settled ? 0 : 1;
    }
    store.claims().endClaims(releases);
    store.commit();
  }

  PostgresDatabase database;
  OutboxOptions options;
  Receiver receiver;
  ServerProcesses processes;
  std::atomic<int> writers = 3;
  std::atomic<std::size_t> enqueued = 0;
  std::atomic<std::size_t> stale = 0;
};

}  // namespace

TEST_CASE("P4 P5 P7: each session's messages come in order, all of them, over connections that are ended") {
  Race race;
  {
    // Makes the peer.
    const PostgresStore first(race.database.location(), race.options);
  }
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer) {
    threads.emplace_back([&race, writer] { race.enqueue(writer); });
  }
  for (int process = 0; process < 3; ++process) {
    threads.emplace_back([&race] { race.deliver(); });
  }
  std::size_t ended = 0;
  while (race.writers != 0 || race.receiver.accepted() < race.enqueued) {
    constexpr std::size_t kBetween = 20;
    race.receiver.await(race.receiver.accepted() + kBetween);
    ended += race.processes.endOne(race.database) ? 1U : 0U;
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(race.receiver.accepted() == race.enqueued);
  CHECK(race.receiver.overtaken() == 0);
  CHECK(ended > 0);
  const store::postgres::PostgresReader reader(race.database.location(), race.options);
  CHECK(reader.stats().acked == race.enqueued);
  CHECK(reader.stats().pending == 0);
  CHECK(reader.verify().findings.empty());
  MESSAGE(race.enqueued.load() << " messages, " << ended << " connections ended, " << race.stale.load()
                               << " settles came too late");
}

}  // namespace race_test
