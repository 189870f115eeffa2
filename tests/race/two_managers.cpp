// Goal: two managers on one file share the work: each message is sent by one of them, each session in order.
// Method: both run; both are enqueued to; one stops and starts in between.

#include <map>
#include <memory>
#include <mutex>
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
  std::mutex mutex;
  std::map<std::string, std::vector<std::uint64_t>> delivered;
  const auto sender = std::make_shared<testing::ScriptedSender>([&](const SendRequest& request) {
    const std::scoped_lock lock(mutex);
    for (const OutboundFrame& frame : request.frames) {
      delivered[frame.session].push_back(frame.sequence);
    }
    return testing::ScriptedSender::all(request, Outcome::ack);
  });
  OutboxManager first = OutboxManager::open(dir.file("race.db"));
  OutboxManager second = OutboxManager::open(dir.file("race.db"));
  first.setSender(sender);
  second.setSender(sender);
  first.start();
  second.start();

  constexpr std::size_t kPerManager = 300;
  const auto feed = [](OutboxManager& manager) {
    for (std::size_t number = 0; number < kPerManager; ++number) {
      Frame frame;
      frame.session = std::to_string(number % 5);
      frame.type = "race.event";
      race::check(manager.enqueue(frame).isNew(), "an enqueue stores");
    }
  };
  std::thread feedFirst(feed, std::ref(first));
  std::thread feedSecond(feed, std::ref(second));
  for (int round = 0; round < 5; ++round) {
    second.stop();
    second.start();
  }
  feedFirst.join();
  feedSecond.join();
  while (first.getStats().acked != 2 * kPerManager) {
    first.notify();
    second.notify();
    std::this_thread::yield();
  }
  first.stop();
  second.stop();

  // A stop may abandon nothing here, since every request is answered at once: so exactly once holds, not only order.
  std::size_t total = 0;
  for (const auto& [session, sequences] : delivered) {
    for (std::size_t index = 0; index < sequences.size(); ++index) {
      race::check(sequences[index] == index + 1, "a session is sent in order, once, whoever sends");
    }
    total += sequences.size();
  }
  race::check(total == 2 * kPerManager, "each message is sent once");
}
