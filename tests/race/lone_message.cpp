// Goal: a message that its own commit has claimed for a run is sent by that run or given back, whatever else is said
// and whenever the run ends: P3, P4. Method: lone messages, words on them from elsewhere, and a run that is started and
// stopped all the time. A stopped run leaves nothing claimed.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

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

  constexpr int kMessages = 600;
  std::atomic<bool> isOver = false;
  std::mutex mutex;
  // Guarded by mutex.
  std::string last;

  std::thread producer([&] {
    for (int number = 0; number < kMessages; ++number) {
      Frame frame;
      frame.session = std::to_string(number % 3);
      frame.type = "race.event";
      frame.supersedeKey = number % 5 == 0 ? "latest" : "";
      const EnqueueReceipt receipt = manager.enqueue(frame);
      race::check(receipt.isNew(), "an enqueue stores");
      {
        const std::scoped_lock lock(mutex);
        last = receipt.messageId;
      }
      // Mostly the next one is alone again.
      for (int yields = 0; yields < 200 && manager.getStats().pending + manager.getStats().sending != 0; ++yields) {
        std::this_thread::yield();
      }
    }
    isOver = true;
  });
  std::thread peer([&] {
    while (!isOver) {
      std::string id;
      {
        const std::scoped_lock lock(mutex);
        id = last;
      }
      manager.ack(id);
      manager.notify();
      std::this_thread::yield();
    }
  });
  for (int round = 0; !isOver; ++round) {
    manager.start();
    for (int yields = 0; yields < 50 * (round % 8); ++yields) {
      std::this_thread::yield();
    }
    manager.stop();
    race::check(manager.getStats().sending == 0, "a stopped run leaves nothing claimed");
  }
  producer.join();
  peer.join();
  while (manager.getStats().pending != 0) {
    manager.drainOnce();
  }
  const Stats stats = manager.getStats();
  race::check(stats.acked + stats.superseded == kMessages, "every message has its end");
  std::map<std::string, std::uint64_t> sent;
  for (const OutboundFrame& frame : sender->frames()) {
    race::check(frame.sequence >= sent[frame.session], "no message is sent before one that stands before it");
    sent[frame.session] = frame.sequence;
  }
}
