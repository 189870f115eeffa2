// Goal: P3 and P4 with every kind of enqueue at once: each frame is delivered once, each session in its caller's order.
// Method: threads that enqueue singly, in batches and asynchronously to sessions of their own, while a run delivers and
// others read.

#include <atomic>
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

namespace {

using namespace ackbox;

constexpr int kPerThread = 200;

Frame frameOf(const std::string& session, int number) {
  Frame frame;
  frame.session = session;
  frame.type = "race.event";
  frame.data = std::to_string(number);
  return frame;
}

void enqueueSingly(OutboxManager& manager, const std::string& session) {
  for (int number = 0; number < kPerThread; ++number) {
    race::check(manager.enqueue(frameOf(session, number)).isNew(), "an enqueue stores");
  }
}

void enqueueBatches(OutboxManager& manager, const std::string& session) {
  for (int number = 0; number < kPerThread; number += 10) {
    std::vector<Frame> frames;
    for (int offset = 0; offset < 10; ++offset) {
      frames.push_back(frameOf(session, number + offset));
    }
    race::check(manager.enqueueBatch(frames).back().isNew(), "a batch stores");
  }
}

void enqueueAsynchronously(OutboxManager& manager, const std::string& session) {
  std::atomic<int> completed{0};
  for (int number = 0; number < kPerThread; ++number) {
    manager.enqueueThen(frameOf(session, number), [&](std::error_code error, const EnqueueReceipt& receipt) {
      race::check(!error && receipt.isNew(), "an asynchronous enqueue stores");
      if (++completed == kPerThread) {
        completed.notify_all();
      }
    });
  }
  for (int seen = completed; seen != kPerThread; seen = completed) {
    completed.wait(seen);
  }
}

}  // namespace

int main() {
  testing::TempDir dir;
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> delivered;
  const auto sender = std::make_shared<testing::ScriptedSender>([&](const SendRequest& request) {
    const std::scoped_lock lock(mutex);
    for (const OutboundFrame& frame : request.frames) {
      delivered[frame.session].push_back(frame.data);
    }
    return testing::ScriptedSender::all(request, Outcome::ack);
  });
  OutboxManager manager = OutboxManager::open(dir.file("race.db"));
  manager.setSender(sender);
  manager.start();

  std::atomic<bool> reading{true};
  std::thread reader([&] {
    while (reading) {
      const Stats stats = manager.getStats();
      race::check(stats.acked <= stats.enqueued, "counters are read from one instant");
    }
  });
  std::vector<std::thread> callers;
  for (int index = 0; index < 3; ++index) {
    callers.emplace_back(enqueueSingly, std::ref(manager), "single" + std::to_string(index));
    callers.emplace_back(enqueueBatches, std::ref(manager), "batch" + std::to_string(index));
    callers.emplace_back(enqueueAsynchronously, std::ref(manager), "async" + std::to_string(index));
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  sender->waitForFrames(9UL * kPerThread);
  reading = false;
  reader.join();
  manager.stop();

  race::check(manager.getStats().acked == 9UL * kPerThread, "each frame is acknowledged once");
  for (const auto& [session, data] : delivered) {
    race::check(data.size() == kPerThread, "each frame is delivered once");
    for (int number = 0; number < kPerThread; ++number) {
      race::check(data[static_cast<std::size_t>(number)] == std::to_string(number), "a session keeps its order");
    }
  }
}
