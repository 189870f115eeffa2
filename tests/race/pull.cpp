// Goal: claim, settle, release and recoverStuck from several threads, of two managers on one file: no message is
// claimed by two at once, and each session is claimed in order. Method: four threads claim and settle as an agent's
// workers do, beside one that takes back what is old and one that enqueues; a table of what is in whose hands.

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "race/check.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace ackbox;

constexpr std::uint64_t kFrames = 400;

/// What the workers have in their hands, and what they have done.
class Hands {
public:
  void take(const Claim& claim) {
    const std::scoped_lock lock(mutex_);
    race::check(held_.insert(claim.frame.session).second, "no two messages of a session are claimed at once");
  }
  void give(const Claim& claim, bool done) {
    const std::scoped_lock lock(mutex_);
    held_.erase(claim.frame.session);
    if (done) {
      race::check(claim.frame.sequence == ++last_[claim.frame.session], "a session is claimed in order, each once");
      ++done_;
    }
  }
  [[nodiscard]] std::uint64_t done() {
    const std::scoped_lock lock(mutex_);
    return done_;
  }

private:
  std::mutex mutex_;
  std::set<std::string> held_;
  std::map<std::string, std::uint64_t> last_;
  std::uint64_t done_ = 0;
};

void work(OutboxManager& manager, Hands& hands) {
  for (int turn = 0; hands.done() < kFrames; ++turn) {
    for (const Claim& claim : PullConsumer(manager).claim(5)) {
      hands.take(claim);
      const bool done = turn % 4 != 3;
      // Given before it is settled: who claims it next may be quicker than we are.
      hands.give(claim, done);
      race::check((done ? PullConsumer(manager).settle(claim, Outcome::ack) : PullConsumer(manager).release(claim)) ==
                      SettleStatus::settled,
                  "a claim is its claimant's until it is settled");
    }
    std::this_thread::yield();
  }
}

}  // namespace

int main() {
  testing::TempDir dir;
  OutboxManager first = OutboxManager::open(dir.file("race.db"));
  OutboxManager second = OutboxManager::open(dir.file("race.db"));
  Hands hands;
  std::vector<std::thread> threads;
  for (OutboxManager* manager : {&first, &first, &second, &second}) {
    threads.emplace_back(work, std::ref(*manager), std::ref(hands));
  }
  threads.emplace_back([&] {
    while (hands.done() < kFrames) {
      race::check(PullConsumer(first).recoverStuck(std::chrono::hours(1)).claims == 0, "what is young is left alone");
      (void)second.getStats();
      std::this_thread::yield();
    }
  });
  for (std::uint64_t number = 0; number < kFrames; ++number) {
    Frame frame;
    frame.session = std::to_string(number % 9);
    frame.type = "race.event";
    race::check((number % 2 == 0 ? first : second).enqueue(frame).isNew(), "an enqueue stores");
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  first.stop();
  second.stop();
  race::check(first.getStats().acked == kFrames, "each message is acknowledged once");
}
