// Goal: a `stop` ends when the run that it found has ended, whoever starts the next one meanwhile.
// Method: rounds in which several threads stop, and others start, at once; nobody stops again before all of them have
// returned. A `stop` that waits for the wrong run never does, and the program runs into its time limit.

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "race/check.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

int main() {
  using namespace ackbox;
  constexpr int kRounds = 2'000;
  constexpr int kStoppers = 8;
  constexpr int kStarters = 8;
  // So that one of them comes between a run's end and the return of who waited for it.
  constexpr int kStartsAgain = 3;
  testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("race.db"));
  manager.setSender(testing::ScriptedSender::always(Outcome::ack));

  std::barrier round(kStoppers + kStarters, [&manager]() noexcept {
    // Between the rounds, alone.
    manager.stop();
    manager.start();
  });
  std::vector<std::thread> threads;
  for (int stopper = 0; stopper < kStoppers; ++stopper) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kRounds; ++turn) {
        round.arrive_and_wait();
        manager.stop();
      }
    });
  }
  for (int starter = 0; starter < kStarters; ++starter) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kRounds; ++turn) {
        round.arrive_and_wait();
        for (int again = 0; again < kStartsAgain; ++again) {
          manager.start();
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  manager.stop();

  // What they leave behind still delivers.
  manager.start();
  Frame frame;
  frame.session = "after";
  frame.type = "race.event";
  race::check(manager.enqueue(frame).isNew(), "an enqueue stores");
  while (manager.getStats().acked == 0) {
    std::this_thread::yield();
  }
  manager.stop();
  race::check(manager.getStats().pending == 0, "everything is delivered");
}
