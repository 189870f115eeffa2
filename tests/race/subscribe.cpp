// Goal: subscribing and unsubscribing while events are emitted: no callback after its handle has gone.
// Method: two threads subscribe and unsubscribe in a loop, with a flag that a late call would find cleared.

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "race/check.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

int main() {
  using namespace ackbox;
  testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("race.db"));
  const auto sender = testing::ScriptedSender::always(Outcome::ack);
  manager.setSender(sender);
  manager.start();

  std::atomic<bool> subscribing{true};
  std::vector<std::thread> subscribers;
  for (int index = 0; index < 2; ++index) {
    subscribers.emplace_back([&] {
      while (subscribing) {
        std::atomic<bool> live{true};
        Subscription acked = manager.onAcked(
            [&](const AckedEvent&) { race::check(live, "no callback after its subscription has ended"); });
        const Subscription sent = manager.onSent([](const SentEvent&) { throw 1; });
        acked.reset();
        live = false;
      }
    });
  }
  constexpr std::size_t kFrames = 300;
  for (std::size_t number = 0; number < kFrames; ++number) {
    Frame frame;
    frame.session = std::to_string(number % 5);
    frame.type = "race.event";
    manager.enqueue(frame);
  }
  sender->waitForFrames(kFrames);
  manager.stop();
  subscribing = false;
  for (std::thread& subscriber : subscribers) {
    subscriber.join();
  }
  race::check(manager.getStats().acked == kFrames, "everything is delivered");
}
