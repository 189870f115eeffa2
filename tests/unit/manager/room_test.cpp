// Goal: an enqueue may wait for room in a full queue: in order, bounded, and never without an answer.
// Method: a queue of one message, a peer that acknowledges, time that moves when told.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <boost/asio/use_future.hpp>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/dead_letters.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/pull.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::room_test {
namespace {

struct FullBox : testing::OutboxStage {
  FullBox() {
    options.maxPending = 1;
    options.maxWaiting = 3;
    manager.emplace(open());
    CHECK(manager->enqueue(frame("first")).isNew());
  }
  OutboxManager open() const { return OutboxStage::open(options); }
  static Frame frame(const std::string& id) {
    Frame made;
    made.type = "test";
    made.id = id;
    return made;
  }
  static Frame sized(const std::string& id, std::size_t bytes, const std::string& supersedeKey = "") {
    Frame made = frame(id);
    made.data = "\"" + std::string(bytes - 2, 'x') + "\"";
    made.supersedeKey = supersedeKey;
    return made;
  }
  std::future<EnqueueReceipt> wait(const std::string& id) { return wait(frame(id)); }
  std::future<EnqueueReceipt> wait(const Frame& waiting) {
    auto promise = std::make_shared<std::promise<EnqueueReceipt>>();
    manager->enqueueThen(waiting, WhenFull::wait,
                         [promise](const std::error_code& error, const EnqueueReceipt& receipt) {
                           if (error) {
                             promise->set_exception(std::make_exception_ptr(std::system_error(error)));
                           } else {
                             promise->set_value(receipt);
                           }
                         });
    return promise->get_future();
  }
  static std::error_code errorOf(std::future<EnqueueReceipt>& future) {
    try {
      (void)future.get();
      return {};
    } catch (const std::system_error& error) {
      return error.code();
    }
  }

  OutboxOptions options;
  std::optional<OutboxManager> manager;
};

/// A full queue, and behind it more enqueues than are tried in one transaction, each refused once.
struct ManyWaiting {
  static constexpr std::size_t kWaiting = 250;
  ManyWaiting() {
    box.manager.reset();
    box.options.maxPending = kWaiting;
    box.options.maxWaiting = kWaiting;
    box.options.busyTimeout = std::chrono::milliseconds(1);
    box.manager.emplace(box.open());
    std::vector<Frame> frames;
    for (std::size_t stored = 1; stored < kWaiting; ++stored) {
      frames.push_back(FullBox::frame("stored-" + std::to_string(stored)));
      // Each in a session of its own, so that all can be claimed at once.
      frames.back().session = frames.back().id;
    }
    box.manager->enqueueBatch(frames);
    for (std::size_t index = 0; index < kWaiting; ++index) {
      waiting.push_back(box.wait("w" + std::to_string(index)));
    }
    roundTrip();
  }
  /// Behind whatever the store's thread was given before.
  void roundTrip() { CHECK_FALSE(box.manager->ack("nobody")); }
  /// In one commit, so that no other one gives occasion for an attempt.
  void makeRoom(std::size_t messages) {
    std::vector<ClaimResult> results;
    for (const Claim& claim : PullConsumer(*box.manager).claim(messages)) {
      results.push_back({claim.token, {}});
      results.back().result.outcome = Outcome::ack;
    }
    REQUIRE(results.size() == messages);
    PullConsumer(*box.manager).settleAll(results);
    // Each attempt asks for the next one from its own end.
    for (std::size_t attempt = 0; attempt < 1 + kWaiting / 100; ++attempt) {
      roundTrip();
    }
  }
  bool isOver(std::size_t index) const {
    return waiting[index].wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  FullBox box;
  std::vector<std::future<EnqueueReceipt>> waiting;
};

TEST_CASE("an enqueue that waits for room is told of a file that cannot be written, as any other is") {
  FullBox box;
  box.manager.reset();
  box.options.busyTimeout = std::chrono::milliseconds(1);
  box.manager.emplace(box.open());
  std::future<EnqueueReceipt> second = box.wait("second");
  // A round trip: its first attempt is over.
  CHECK(box.manager->enqueue(FullBox::frame("impatient")).status == EnqueueStatus::queueFull);
  {
    SQLite::Database other(box.dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    while (second.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      box.clock->advance(std::chrono::seconds(1));
      std::this_thread::yield();
    }
  }
  CHECK(FullBox::errorOf(second) == Errc::databaseBusy);
}

TEST_CASE("row 11: enqueues wait for room and are stored in the order in which they came") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  std::future<EnqueueReceipt> third = box.wait("third");
  CHECK(box.manager->enqueue(FullBox::frame("impatient")).status == EnqueueStatus::queueFull);
  box.manager->start();
  CHECK(second.get().sequence == 2);
  CHECK(third.get().sequence == 3);
  box.sender->waitForFrames(3);
  box.manager->stop();
  CHECK(box.sender->frames()[1].messageId == "second");
  CHECK(box.sender->frames()[2].messageId == "third");
}

TEST_CASE("row 11: with room there is no waiting, and a waiting enqueue tells other outcomes at once") {
  FullBox box;
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(box.wait("second").get().isNew());
  CHECK(box.wait("second").get().status == EnqueueStatus::duplicate);
  Frame bad = FullBox::frame("bad");
  bad.type = "";
  box.manager->enqueueThen(bad, WhenFull::wait, [](const std::error_code& error, const EnqueueReceipt& receipt) {
    CHECK_FALSE(error);
    CHECK(receipt.status == EnqueueStatus::invalidFrame);
  });
}

TEST_CASE("row 11: only so many may wait, and one that never fits does not") {
  FullBox box;
  std::vector<std::future<EnqueueReceipt>> waiting;
  for (int count = 0; count < 3; ++count) {
    waiting.push_back(box.wait("w" + std::to_string(count)));
  }
  const EnqueueReceipt refused = box.wait("late").get();
  CHECK(refused.status == EnqueueStatus::queueFull);
  CHECK(refused.detail.find("maxWaiting") != std::string::npos);
  box.manager.reset();
  for (std::future<EnqueueReceipt>& one : waiting) {
    CHECK(FullBox::errorOf(one) == Errc::stopped);
  }
  box.options.maxPendingBytes = 10;
  box.manager.emplace(box.open());
  Frame large = FullBox::frame("large");
  large.data = R"("longer than ten bytes")";
  box.manager->enqueueThen(large, WhenFull::wait, [](const std::error_code& error, const EnqueueReceipt& receipt) {
    CHECK_FALSE(error);
    CHECK(receipt.detail.find("maxPendingBytes") != std::string::npos);
  });
}

TEST_CASE("row 11: stop ends those that wait with an error, and others may wait afterwards") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  // Behind an answer of the store's thread, so that the first attempt is over.
  CHECK_FALSE(box.manager->ack("nobody"));
  box.manager->stop();
  CHECK(FullBox::errorOf(second) == Errc::stopped);
  CHECK_FALSE(box.manager->find("second"));
  std::future<EnqueueReceipt> third = box.wait("third");
  box.manager->start();
  CHECK(third.get().isNew());
  box.manager->stop();
}

TEST_CASE("row 11: room that another process made is noticed, without a run in this one") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  OutboxManager other = box.open();
  CHECK(other.drainOnce().acked == 1);
  while (second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    box.clock->advance(box.options.pollInterval);
  }
  CHECK(second.get().isNew());
}

TEST_CASE("row 11, P3: more enqueues than one transaction tries all end when there is room, in their order") {
  ManyWaiting box;
  box.makeRoom(ManyWaiting::kWaiting);
  for (std::size_t index = 0; index < ManyWaiting::kWaiting; ++index) {
    REQUIRE(box.isOver(index));
    // Behind the first, in its session.
    CHECK(box.waiting[index].get().sequence == 2 + index);
  }
}

TEST_CASE("row 11: room for a part of those that wait is given to the first of them, and the others wait on") {
  ManyWaiting box;
  constexpr std::size_t kRoom = 130;
  box.makeRoom(kRoom);
  for (std::size_t index = 0; index < kRoom; ++index) {
    REQUIRE(box.isOver(index));
    CHECK(box.waiting[index].get().isNew());
  }
  CHECK_FALSE(box.isOver(kRoom));
  CHECK_FALSE(box.isOver(ManyWaiting::kWaiting - 1));
  box.box.manager->stop();
  for (std::size_t index = kRoom; index < ManyWaiting::kWaiting; ++index) {
    REQUIRE(box.isOver(index));
    CHECK(FullBox::errorOf(box.waiting[index]) == Errc::stopped);
  }
}

TEST_CASE("row 11, P3: of a file that cannot be written all are told that wait, not only those of one transaction") {
  ManyWaiting box;
  {
    SQLite::Database other(box.box.dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    while (!box.isOver(ManyWaiting::kWaiting - 1)) {
      box.box.clock->advance(box.box.options.pollInterval);
      std::this_thread::yield();
    }
  }
  for (std::future<EnqueueReceipt>& one : box.waiting) {
    CHECK(FullBox::errorOf(one) == Errc::databaseBusy);
  }
}

TEST_CASE("row 11: room in bytes alone is noticed, as a smaller message makes it that supersedes a larger one") {
  FullBox box;
  box.manager.reset();
  box.options.maxPending = 0;
  box.options.maxPendingBytes = 100;
  box.manager.emplace(box.open());
  CHECK(box.manager->ack("first"));
  REQUIRE(box.manager->enqueue(FullBox::sized("large", 90, "latest")).isNew());
  std::future<EnqueueReceipt> waiting = box.wait(FullBox::sized("waiting", 50));
  CHECK_FALSE(box.manager->ack("nobody"));
  CHECK(waiting.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
  CHECK(box.manager->enqueue(FullBox::sized("small", 10, "latest")).isNew());
  // No poll helps: time stands still.
  CHECK(waiting.get().isNew());
}

TEST_CASE("row 11: those that did not fit into one transaction go on, though what it stored leaves the queue as full") {
  FullBox box;
  box.manager.reset();
  box.options.maxPending = 0;
  box.options.maxPendingBytes = 1'000;
  box.options.maxWaiting = 101;
  box.manager.emplace(box.open());
  CHECK(box.manager->ack("first"));
  REQUIRE(box.manager->enqueue(FullBox::sized("large", 900)).isNew());
  std::vector<std::future<EnqueueReceipt>> waiting;
  waiting.push_back(box.wait(FullBox::sized("refused", 200)));
  // The hundred of the first transaction hold 992 bytes, which is more than when the first of them was refused.
  for (int count = 0; count < 100; ++count) {
    waiting.push_back(box.wait(FullBox::sized("w" + std::to_string(count), 8)));
  }
  CHECK_FALSE(box.manager->ack("nobody"));
  CHECK(waiting.front().wait_for(std::chrono::seconds(0)) != std::future_status::ready);
  CHECK(box.manager->ack("large"));
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK_FALSE(box.manager->ack("nobody"));
  }
  // No poll helps: time stands still.
  for (std::future<EnqueueReceipt>& one : waiting) {
    REQUIRE(one.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
    CHECK(one.get().isNew());
  }
}

TEST_CASE("row 11: asyncEnqueue can wait for room") {
  FullBox box;
  std::future<EnqueueReceipt> second =
      box.manager->asyncEnqueue(FullBox::frame("second"), WhenFull::wait, boost::asio::use_future);
  CHECK(box.manager->ack("first"));
  CHECK(second.get().isNew());
}

TEST_CASE("row 11: a redrive is not held up by a full queue") {
  FullBox box;
  CHECK(OutboxOperator(*box.manager).markFailed("first").done());
  CHECK(box.wait("second").get().isNew());
  std::future<EnqueueReceipt> third = box.wait("third");
  CHECK(OutboxOperator(*box.manager).retry("first").done());
  box.manager->start();
  CHECK(third.get().isNew());
  box.sender->waitForFrames(3);
  box.manager->stop();
}

}  // namespace
}  // namespace ackbox::room_test
