// Goal: what throws in one peer's exchange, or in the user's code beneath it, is that request's failure: it ends
// neither the process nor the run, and costs neither its messages nor its neighbours anything (P8, P11). Method: a peer
// with a sender of its own that throws in each of its members in turn, beside a peer that answers.

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::throwing_sender_test {
namespace {

using testing::ScriptedSender;

/// Where it throws. By its third request it has got over it.
struct Thrower final : Sender {
  enum class At : std::uint8_t { start, credit, send, sendNoException, exchange, silence, stop };

  explicit Thrower(At place) : at(place) {}

  void start(const boost::asio::any_io_executor& given) override {
    executor = given;
    if (at == At::start && ++tries < 3) {
      throw std::runtime_error("no start");
    }
    isStarted = true;
  }
  [[nodiscard]] std::uint32_t initialCredit() const override {
    if (at == At::credit) {
      throw std::runtime_error("no credit");
    }
    return at == At::silence ? 0 : 8;
  }
  void asyncSend(SendRequest request, SendHandler handler) override {
    // As documented: nothing is sent before `start` has returned.
    CHECK(isStarted);
    const bool isWell = at == At::start || at == At::credit || at == At::stop || ++tries >= 3;
    if (isWell) {
      handler(ScriptedSender::all(request, Outcome::ack));
    } else if (at == At::send) {
      throw std::runtime_error("no send");
    } else if (at == At::sendNoException) {
      throw 42;
    } else if (at == At::exchange) {
      boost::asio::post(executor, [kept = std::move(handler)] { throw std::runtime_error("a field is too long"); });
    }
  }
  void stop() override {
    if (at == At::stop) {
      throw std::runtime_error("no stop");
    }
  }

  const At at;
  boost::asio::any_io_executor executor;
  int tries = 0;
  bool isStarted = false;
};

constexpr Thrower::At kPlaces[] = {
    Thrower::At::start,    Thrower::At::credit,  Thrower::At::send, Thrower::At::sendNoException,
    Thrower::At::exchange, Thrower::At::silence, Thrower::At::stop};

struct Outbox {
  explicit Outbox(Thrower::At at) {
    OutboxOptions options;
    options.peers = {{.name = "good"}, {.name = "bad", .sender = std::make_shared<Thrower>(at)}};
    options.peerHealth.probeDelays = {std::chrono::milliseconds(1)};
    manager.emplace(OutboxManager::open(dir.file("agent.db"), options));
    manager->setSender(ScriptedSender::always(Outcome::ack));
    for (int number = 0; number < 20; ++number) {
      for (const char* peer : {"good", "bad"}) {
        Frame frame;
        frame.peer = peer;
        frame.session = std::to_string(number % 3);
        frame.type = "com.example.said";
        manager->enqueue(frame);
      }
    }
  }

  testing::TempDir dir;
  std::optional<OutboxManager> manager;
};

TEST_CASE("P11: whatever a peer's sender throws, and wherever, all messages arrive uncharged and the run goes on") {
  for (const Thrower::At at : kPlaces) {
    CAPTURE(static_cast<int>(at));
    Outbox box(at);
    std::atomic<int> charged = 0;
    const Subscription retried = box.manager->onRetry([&charged](const RetryEvent&) { ++charged; });
    box.manager->start();
    while (box.manager->getStats().acked < 40) {
      std::this_thread::yield();
    }
    box.manager->stop();
    CHECK(charged == 0);
    CHECK(box.manager->getStats().failed == 0);
  }
}

TEST_CASE("P11: what throws in an exchange is told of, by its own words") {
  Outbox box(Thrower::At::exchange);
  std::mutex mutex;
  std::vector<HealthEvent> told;
  const Subscription heard = box.manager->onHealth([&](const HealthEvent& event) {
    const std::scoped_lock lock(mutex);
    told.push_back(event);
  });
  box.manager->start();
  while (box.manager->getStats().acked < 40) {
    std::this_thread::yield();
  }
  box.manager->stop();
  const std::scoped_lock lock(mutex);
  REQUIRE(told.size() == 2);
  CHECK((told[0].check == HealthCheck::process));
  CHECK(told[0].sentence == "an exception was caught, and the process continues: a field is too long");
}

TEST_CASE("P11: a pass by hand is harmed by a throwing sender no more than a run is") {
  for (const Thrower::At at : kPlaces) {
    CAPTURE(static_cast<int>(at));
    Outbox box(at);
    while (box.manager->getStats().acked < 40) {
      try {
        box.manager->drainOnce();
      } catch (const std::runtime_error& error) {
        // The caller's own thread does the work, and hears of it.
        CHECK((at == Thrower::At::exchange));
        CHECK(std::string(error.what()) == "a field is too long");
      }
    }
    box.manager->stop();
    CHECK(box.manager->getStats().failed == 0);
  }
}

/// Holds the store's thread up from the first request on, so that the step with its answer stays with the store; throws
/// behind that on the run's executor, and lets the store go behind that.
struct ThrowsDuringStep final : Sender {
  explicit ThrowsDuringStep(OutboxManager& owner) : manager(owner) {}

  void start(const boost::asio::any_io_executor& given) override { executor = given; }
  void asyncSend(SendRequest request, SendHandler handler) override {
    if (hasSent.exchange(true)) {
      handler(ScriptedSender::all(request, Outcome::ack));
      return;
    }
    manager.enqueueThen(testing::testFrame("other"), [this](const std::error_code&, const EnqueueReceipt&) {
      isHeldUp.release();
      mayGoOn.acquire();
    });
    isHeldUp.acquire();
    handler(ScriptedSender::all(request, Outcome::ack));
    boost::asio::post(executor, [] { throw std::runtime_error("a field is too long"); });
    boost::asio::post(executor, [] { throw std::runtime_error("and another"); });
    boost::asio::post(executor, [this] { letGo(); });
  }
  void letGo() {
    hasLetGo = true;
    mayGoOn.release();
  }

  OutboxManager& manager;
  boost::asio::any_io_executor executor;
  std::atomic<bool> hasSent = false;
  std::binary_semaphore isHeldUp{0};
  std::binary_semaphore mayGoOn{0};
  bool hasLetGo = false;
};

TEST_CASE("P5: a pass in which something throws leaves when the store has nothing of it any more") {
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"));
  const auto sender = std::make_shared<ThrowsDuringStep>(manager);
  manager.setSender(sender);
  manager.enqueue(testing::testFrame("s"));
  std::string what;
  try {
    manager.processAll();
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  CHECK(what == "a field is too long");
  CHECK(sender->hasLetGo);
  if (!sender->hasLetGo) {
    sender->letGo();
  }
  // The answer was committed by the step.
  CHECK(manager.getStats().acked == 1);
  manager.processAll();
  CHECK(manager.getStats().acked == 2);
}

}  // namespace
}  // namespace ackbox::throwing_sender_test
