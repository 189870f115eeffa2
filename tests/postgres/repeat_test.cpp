// Goal: P3 P5: of two transactions that are in each other's way, the one that the server refuses is run again, and its
// caller does not notice.
// Method: jobs that wait for each other at a chosen point of their first run; two of them with one key.

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/writer.hpp"
#include "support/postgres_database.hpp"

namespace repeat_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

Frame frameOf(const std::string& session) {
  Frame frame;
  frame.session = session;
  frame.type = "test";
  frame.data = "{}";
  return frame;
}

class Work final : public store::Job {
public:
  explicit Work(std::function<void(store::Store&)> work) : work_(std::move(work)) { durable = true; }
  void run(store::Store& store) override { work_(store); }
  void done(const std::error_code& error) noexcept override {
    isDone = true;
    failure = error;
  }

  std::error_code failure;
  bool isDone = false;

private:
  const std::function<void(store::Store&)> work_;
};

// As a caller's thread does; whoever waits for a lock for long is sent to the queue.
void commit(store::Writer& writer, Work& work) {
  if (!writer.commitHere(work)) {
    writer.submit(work);
    while (!work.isDone) {
      writer.runOnce();
    }
  }
}

}  // namespace

TEST_CASE("P3: two transactions that wait for each other's session are both committed") {
  const PostgresDatabase database;
  // Read by the connections that follow.
  PostgresServer::get().run("ALTER DATABASE " + database.name() + " SET deadlock_timeout='20ms'");
  const OutboxOptions options;
  { const PostgresStore first(database.location(), options); }
  std::barrier together(2);
  std::atomic<int> runs = 0;
  const auto enqueue = [&](const char* first, const char* second) {
    PostgresStore store(database.location(), options);
    store::Writer writer(store);
    bool isFirstRun = true;
    Work work([&](store::Store& any) {
      ++runs;
      any.outbox().enqueue(frameOf(first));
      if (std::exchange(isFirstRun, false)) {
        together.arrive_and_wait();
      }
      any.outbox().enqueue(frameOf(second));
    });
    commit(writer, work);
    CHECK_FALSE(work.failure);
  };
  std::thread other([&] { enqueue("b", "a"); });
  enqueue("a", "b");
  other.join();
  CHECK(runs >= 3);
  const store::postgres::PostgresReader reader(database.location(), options);
  CHECK(reader.stats().pending == 4);
  CHECK(reader.sessionStats("default", "a")->lastSequence == 2);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P5: of two enqueues with one key at the same time one stores, and the other is told its message") {
  const PostgresDatabase database;
  const OutboxOptions options;
  PostgresStore store(database.location(), options);
  Frame frame = frameOf("s");
  frame.idempotencyKey = "k";
  store.begin(true);
  const EnqueueReceipt first = store.outbox().enqueue(frame);
  std::thread other([&] {
    PostgresStore theirs(database.location(), options);
    store::Writer writer(theirs);
    EnqueueReceipt receipt;
    // In another session, whose gate is free.
    frame.session = "t";
    Work work([&](store::Store& any) { receipt = any.outbox().enqueue(frame); });
    commit(writer, work);
    CHECK_FALSE(work.failure);
    CHECK(receipt.status == EnqueueStatus::duplicate);
    CHECK(receipt.messageId == first.messageId);
  });
  while (database.run("SELECT count(*) FROM pg_stat_activity WHERE datname='" + database.name() +
                      "' AND wait_event_type='Lock'") == "0") {
  }
  store.commit();
  other.join();
  const store::postgres::PostgresReader reader(database.location(), options);
  CHECK(reader.stats().pending == 1);
  CHECK(reader.verify().findings.empty());
}

}  // namespace repeat_test
