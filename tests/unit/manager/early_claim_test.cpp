// Goal: what the commit of a lone message has claimed for a run is sent by it or given back, never kept: P3, P4.
// Method: a run that is held up inside a callback while messages, orders and its stop are waiting for it.

#include <doctest/doctest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox {
namespace {

using testing::ScriptedSender;
using testing::testFrame;

/// A run that is held up in a callback, after it has sent a lone message and let the next one be claimed early.
struct HeldUp {
  explicit HeldUp(const OutboxOptions& options = {}) : manager(OutboxManager::open(dir.file("agent.db"), options)) {
    manager.setSender(sender);
    subscription = manager.onAcked([this](const AckedEvent& event) {
      if (event.session != kAside) {
        acked.release();
        return;
      }
      if (stopsFirst) {
        manager.notify();
        manager.stop();
      }
      held.release();
      letGo.acquire();
    });
  }

  void begin() {
    manager.start();
    REQUIRE(manager.pause("default", kAside));
    const EnqueueReceipt aside = manager.enqueue(testFrame(kAside));
    REQUIRE(aside.isNew());
    REQUIRE(manager.enqueue(testFrame("s")).isNew());
    acked.acquire();
    // Told in the run's thread, when that has done with the other.
    REQUIRE(manager.ack(aside.messageId));
    held.acquire();
  }

  [[nodiscard]] std::vector<std::uint64_t> sentSequences() const {
    std::vector<std::uint64_t> sequences;
    for (const OutboundFrame& frame : sender->frames()) {
      sequences.push_back(frame.sequence);
    }
    return sequences;
  }

  static constexpr const char* kAside = "aside";

  testing::TempDir dir;
  OutboxManager manager;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  // Before `begin`.
  bool stopsFirst = false;
  std::counting_semaphore<> acked{0};
  std::binary_semaphore held{0};
  std::binary_semaphore letGo{0};
  Subscription subscription;
};

}  // namespace

TEST_CASE("while the run is held up, one message is claimed early, and all are sent in order") {
  HeldUp box;
  box.begin();
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 1);
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 1);
  box.letGo.release();
  box.sender->waitForFrames(4);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("a run that is told to stop gives back what is claimed early") {
  HeldUp box;
  box.stopsFirst = true;
  box.begin();
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 1);
  box.letGo.release();
  box.manager.stop();
  CHECK(box.manager.getStats().sending == 0);
  CHECK(box.manager.getStats().pending == 1);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1});
  // No run is left for whom anything could be claimed.
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 0);
  // Its session is everybody's again.
  OutboxManager other = OutboxManager::open(box.dir.file("agent.db"), OutboxOptions());
  other.setSender(box.sender);
  other.start();
  box.sender->waitForFrames(3);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("no leave outlives a run that has no patience for what is under way") {
  OutboxOptions options;
  options.stopTimeout = std::chrono::milliseconds(0);
  HeldUp box(options);
  box.stopsFirst = true;
  box.begin();
  box.letGo.release();
  box.manager.stop();
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 0);
}

TEST_CASE("the leave ends when the run claims anything else") {
  HeldUp box;
  box.begin();
  // Together, so that neither is claimed early.
  const std::vector<EnqueueReceipt> receipts =
      box.manager.enqueueBatch(std::vector{testFrame(HeldUp::kAside), testFrame("s")});
  CHECK(box.manager.getStats().sending == 0);
  std::binary_semaphore sending{0};
  std::binary_semaphore sendOn{0};
  box.sender->setScript([&, isFirst = true](const SendRequest& request) mutable {
    if (std::exchange(isFirst, false)) {
      sending.release();
      sendOn.acquire();
    }
    return ScriptedSender::all(request, Outcome::ack);
  });
  box.letGo.release();
  sending.acquire();
  // Its request is under way, and nothing is live.
  box.letGo.release();
  REQUIRE(box.manager.ack(receipts.at(0).messageId));
  REQUIRE(box.manager.ack(receipts.at(1).messageId));
  REQUIRE(box.manager.enqueue(testFrame("t")).isNew());
  CHECK(box.manager.getStats().sending == 0);
  sendOn.release();
  box.sender->waitForFrames(3);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1, 2, 1});
}

TEST_CASE("nothing is claimed early that another process could send meanwhile") {
  HeldUp box;
  OutboxManager other = OutboxManager::open(box.dir.file("agent.db"), OutboxOptions());
  box.begin();
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 0);
  other.setSender(box.sender);
  other.start();
  box.sender->waitForFrames(2);
  box.letGo.release();
}

TEST_CASE("what may not be sent any more when the run hears of it is given back, and sent later") {
  HeldUp box;
  box.begin();
  REQUIRE(box.manager.pause("default"));
  REQUIRE(box.manager.enqueue(testFrame("s")).isNew());
  CHECK(box.manager.getStats().sending == 1);
  box.letGo.release();
  box.manager.stop();
  CHECK(box.manager.getStats().sending == 0);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1});
  box.manager.start();
  box.manager.resume("default");
  box.sender->waitForFrames(2);
  CHECK(box.sentSequences() == std::vector<std::uint64_t>{1, 2});
}

}  // namespace ackbox
