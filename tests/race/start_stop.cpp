// Goal: start, stop, drainOnce, notify, ack, find and getStats may be called from any threads at any time.
// Method: threads that call them in a tight loop while others enqueue; at the end everything is delivered.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "race/check.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

int main() {
  using namespace ackbox;
  testing::TempDir dir;
  const auto sender = testing::ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(dir.file("race.db"));
  manager.setSender(sender);

  constexpr int kRounds = 60;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int round = 0; round < kRounds; ++round) {
      manager.start();
      manager.stop();
    }
  });
  for (int drainer = 0; drainer < 2; ++drainer) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        try {
          manager.drainOnce();
        } catch (const Error& error) {
          race::check(error.code() == Errc::alreadyRunning, "only a run under way refuses a drain");
        }
        manager.stop();
      }
    });
  }
  threads.emplace_back([&] {
    for (int round = 0; round < 4 * kRounds; ++round) {
      manager.notify();
      race::check(manager.getStats().failed == 0, "nothing fails");
      race::check(!manager.ack("unknown"), "an unknown id is benign");
      (void)manager.find("unknown");
    }
  });
  threads.emplace_back([&] {
    for (int round = 0; round < 4 * kRounds; ++round) {
      Frame frame;
      frame.session = std::to_string(round % 7);
      frame.type = "race.event";
      race::check(manager.enqueue(frame).isNew(), "an enqueue stores");
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  while (manager.getStats().pending != 0) {
    manager.drainOnce();
  }
  race::check(manager.getStats().acked == 4UL * kRounds, "everything is delivered");
}
