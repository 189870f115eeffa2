// Goal: jobs that gather share one commit; one that fails fails alone; every job is told once, in order.
// Method: jobs that write down what happens to them, run inline by the test, and once with many threads.

#include "store/writer.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "ackbox/error.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store_world.hpp"
#include "support/asleep.hpp"

namespace writer_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

// For a writer that has stalled.
constexpr std::chrono::seconds kPatience{20};

class NotingJob final : public store::Job {
public:
  NotingJob(std::string name, std::string& log, std::function<void(store::Store&)> work)
      : name_(std::move(name)), log_(log), work_(std::move(work)) {}

  void run(store::Store& store) override {
    ++runs;
    work_(store);
  }
  void done(const std::error_code& error) noexcept override {
    result = error;
    log_ += name_ + (error ? "!" : "") + " ";
  }

  int runs = 0;
  std::error_code result;

private:
  std::string name_;
  std::string& log_;
  std::function<void(store::Store&)> work_;
};

void enqueueInto(store::Store& store) {
  store.outbox().enqueue(frameOf("s"));
}

struct Fixture {
  StoreWorld world;
  std::unique_ptr<store::sqlite::SqliteStore> store;
  std::string log;
  int commits = 0;
  std::unique_ptr<store::Writer> writer;

  Fixture() {
    world.options.busyTimeout = std::chrono::milliseconds(1);
    store = world.open();
    writer = std::make_unique<store::Writer>(*store, [this](store::Store&) {
      ++commits;
      return store::Writer::AfterRelease();
    });
  }
  std::uint64_t pending() const { return store::sqlite::SqliteReader(world.file, world.options).stats().pending; }
};

}  // namespace

TEST_CASE("a group's messages are announced before its first job runs") {
  class AnnouncingJob final : public store::Job {
  public:
    AnnouncingJob(const char* name, std::string& log) : name_(name), log_(log) {}
    void announce(std::vector<const Frame*>& frames) const override {
      log_ += name_ + "? ";
      frames.push_back(&frame_);
    }
    void run(store::Store& store) override {
      log_ += name_ + " ";
      store.outbox().enqueue(frame_);
    }
    void done(const std::error_code& error) noexcept override { log_ += error ? "failed " : "done "; }

  private:
    const std::string name_;
    std::string& log_;
    const Frame frame_ = frameOf("s");
  };
  Fixture fixture;
  AnnouncingJob a("a", fixture.log);
  AnnouncingJob b("b", fixture.log);
  fixture.writer->submit(a);
  fixture.writer->submit(b);
  CHECK(fixture.writer->runOnce());
  CHECK(fixture.log == "a? b? a b done done ");
  CHECK(fixture.pending() == 2);
}

TEST_CASE("what has gathered commits once, and is told in the order of submission") {
  Fixture fixture;
  NotingJob a("a", fixture.log, enqueueInto);
  NotingJob b("b", fixture.log, enqueueInto);
  b.durable = true;
  fixture.writer->submit(a);
  fixture.writer->submit(b);
  CHECK(fixture.log.empty());
  CHECK(fixture.writer->runOnce());
  CHECK(fixture.log == "a b ");
  CHECK(fixture.commits == 1);
  CHECK(fixture.pending() == 2);
  CHECK_FALSE(fixture.writer->runOnce());
}

TEST_CASE("P12: a job of many messages ends its group, and the jobs behind it come next, in their order") {
  constexpr int kMany = 1'024;
  Fixture fixture;
  const auto enqueueMany = [](store::Store& store) {
    for (int message = 0; message < kMany; ++message) {
      enqueueInto(store);
    }
  };
  NotingJob a("a", fixture.log, enqueueInto);
  NotingJob many("many", fixture.log, enqueueMany);
  NotingJob more("more", fixture.log, enqueueMany);
  NotingJob b("b", fixture.log, enqueueInto);
  for (NotingJob* job : {&a, &many, &more, &b}) {
    fixture.writer->submit(*job);
  }
  fixture.writer->runOnce();
  CHECK(fixture.log == "a many ");
  fixture.writer->runOnce();
  CHECK(fixture.log == "a many more ");
  NotingJob last("last", fixture.log, enqueueInto);
  fixture.writer->submit(last);
  fixture.writer->runOnce();
  CHECK(fixture.log == "a many more b last ");
  CHECK(fixture.commits == 3);
  CHECK(more.runs == 1);
  CHECK_FALSE(fixture.writer->runOnce());
}

TEST_CASE("P3: a job that throws fails alone; the others of its group are run again and commit") {
  Fixture fixture;
  NotingJob a("a", fixture.log, enqueueInto);
  NotingJob bad("bad", fixture.log, [](store::Store& store) {
    enqueueInto(store);
    throw Error(Errc::unknownPeer, "test");
  });
  NotingJob sql("sql", fixture.log, [](store::Store& store) { store::sqlite::databaseOf(store).exec("SELEC"); });
  NotingJob c("c", fixture.log, enqueueInto);
  for (NotingJob* job : {&a, &bad, &sql, &c}) {
    fixture.writer->submit(*job);
  }
  fixture.writer->runOnce();
  CHECK(fixture.log == "a bad! sql! c ");
  CHECK(bad.result == Errc::unknownPeer);
  CHECK(sql.result == Errc::databaseError);
  CHECK(a.runs == 2);
  CHECK(fixture.pending() == 2);
}

TEST_CASE("P5: a job whose handler ended the transaction is run again until it leaves each offender out") {
  Fixture fixture;
  NotingJob a("a", fixture.log, enqueueInto);
  int offenders = 3;
  NotingJob inbound("inbound", fixture.log, [&](store::Store& store) {
    enqueueInto(store);
    if (offenders-- > 0) {
      throw Error(Errc::handlerEndedTransaction, "test");
    }
  });
  fixture.writer->submit(a);
  fixture.writer->submit(inbound);
  fixture.writer->runOnce();
  CHECK(fixture.log == "a inbound ");
  CHECK(inbound.runs == 4);
  CHECK(fixture.pending() == 2);
}

TEST_CASE("a job that throws alone is not run twice") {
  Fixture fixture;
  NotingJob bad("bad", fixture.log, [](store::Store&) { throw std::bad_alloc(); });
  fixture.writer->submit(bad);
  fixture.writer->runOnce();
  CHECK(bad.runs == 1);
  CHECK(bad.result == Errc::outOfMemory);
}

TEST_CASE("while another connection holds the write lock, the whole group is told that it is busy") {
  Fixture fixture;
  SQLite::Database other(fixture.world.file.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  NotingJob a("a", fixture.log, enqueueInto);
  NotingJob b("b", fixture.log, enqueueInto);
  fixture.writer->submit(a);
  fixture.writer->submit(b);
  fixture.writer->runOnce();
  CHECK(fixture.log == "a! b! ");
  CHECK(a.result == Errc::databaseBusy);
  CHECK(a.runs == 0);
  other.exec("ROLLBACK");
}

TEST_CASE("closing finishes what is queued and refuses what comes later") {
  Fixture fixture;
  NotingJob queued("queued", fixture.log, enqueueInto);
  NotingJob late("late", fixture.log, enqueueInto);
  fixture.writer->submit(queued);
  SUBCASE("inline") {}
  SUBCASE("with its thread") {
    fixture.writer->startThread();
  }
  fixture.writer->close();
  fixture.writer->close();
  fixture.writer->submit(late);
  CHECK(fixture.log == "queued late! ");
  CHECK(late.result == Errc::stopped);
}

TEST_CASE("closing waits for the end of a commit in a caller's thread, and ends with it") {
  Fixture fixture;
  SUBCASE("without a thread of the writer's own") {}
  SUBCASE("with one") {
    fixture.writer->startThread();
  }
  std::promise<void> hasBegun;
  std::promise<void> mayEnd;
  NotingJob lone("lone", fixture.log, [&](store::Store&) {
    hasBegun.set_value();
    mayEnd.get_future().wait();
  });
  std::thread caller([&] { CHECK(fixture.writer->commitHere(lone)); });
  hasBegun.get_future().wait();
  std::promise<pid_t> closer;
  std::future<void> closing = std::async(std::launch::async, [&] {
    closer.set_value(gettid());
    fixture.writer->close();
  });
  untilAsleep(closer.get_future().get());
  CHECK(fixture.log.empty());
  mayEnd.set_value();
  REQUIRE(closing.wait_for(kPatience) == std::future_status::ready);
  caller.join();
  CHECK(fixture.log == "lone ");
}

TEST_CASE("a lone job may commit in its caller's thread, but not past what is queued, nor after a crowd") {
  Fixture fixture;
  std::thread::id ranIn;
  NotingJob lone("lone", fixture.log, [&](store::Store& store) {
    ranIn = std::this_thread::get_id();
    // It could not wait for itself.
    CHECK(fixture.writer->runsInThisThread());
    enqueueInto(store);
  });
  REQUIRE(fixture.writer->commitHere(lone));
  CHECK(ranIn == std::this_thread::get_id());
  CHECK(fixture.log == "lone ");
  CHECK(fixture.commits == 1);
  CHECK_FALSE(fixture.writer->runsInThisThread());

  NotingJob a("a", fixture.log, enqueueInto);
  NotingJob b("b", fixture.log, enqueueInto);
  NotingJob late("late", fixture.log, enqueueInto);
  fixture.writer->submit(a);
  CHECK_FALSE(fixture.writer->commitHere(late));
  fixture.writer->submit(b);
  CHECK(fixture.writer->runOnce());
  // More may be on their way: they would wait for a commit of one.
  CHECK_FALSE(fixture.writer->commitHere(late));
  CHECK(late.runs == 0);
  fixture.writer->submit(late);
  CHECK(fixture.writer->runOnce());
  CHECK(fixture.log == "lone a b late ");

  NotingJob again("again", fixture.log, enqueueInto);
  CHECK(fixture.writer->commitHere(again));
  CHECK(fixture.pending() == 5);

  fixture.writer->close();
  NotingJob closed("closed", fixture.log, enqueueInto);
  CHECK_FALSE(fixture.writer->commitHere(closed));
  CHECK(closed.runs == 0);
}

TEST_CASE("a lone job that must not wait leaves everything as it is while another connection holds the write lock") {
  Fixture fixture;
  fixture.writer.reset();
  fixture.store.reset();
  fixture.world.options.busyTimeout = std::chrono::hours(1);
  fixture.store = fixture.world.open();
  store::Writer writer(*fixture.store);
  SQLite::Database other(fixture.world.file.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  NotingJob lone("lone", fixture.log, enqueueInto);
  CHECK_FALSE(writer.commitHere(lone, store::WhenLocked::leave));
  CHECK_FALSE(writer.runsInThisThread());
  CHECK(lone.runs == 0);
  CHECK(fixture.log.empty());
  other.exec("ROLLBACK");
  CHECK(writer.commitHere(lone, store::WhenLocked::leave));
  CHECK(fixture.log == "lone ");
  // The others wait as before.
  const auto patience = std::chrono::milliseconds(fixture.store->database().execAndGet("PRAGMA busy_timeout").getInt());
  CHECK(patience == fixture.world.options.busyTimeout);
}

TEST_CASE("what a commit wakes finds the writer free, and is woken before any other job") {
  StoreWorld world;
  const auto store = world.open();
  std::string log;
  NotingJob woken("woken", log, enqueueInto);
  std::unique_ptr<store::Writer> writer;
  bool wakes = false;
  writer = std::make_unique<store::Writer>(*store, [&](store::Store&) -> store::Writer::AfterRelease {
    return [&] {
      log += "told ";
      if (std::exchange(wakes, false)) {
        CHECK(writer->commitHere(woken, store::WhenLocked::leave));
      }
    };
  });
  NotingJob lone("lone", log, enqueueInto);
  wakes = true;
  REQUIRE(writer->commitHere(lone));
  CHECK(log == "lone told woken told ");

  log.clear();
  NotingJob bad("bad", log, [](store::Store&) { throw Error(Errc::diskFull, "no space"); });
  NotingJob first("first", log, enqueueInto);
  NotingJob second("second", log, [&log](store::Store& into) {
    log += "runs ";
    enqueueInto(into);
  });
  writer->submit(bad);
  writer->submit(first);
  writer->submit(second);
  REQUIRE(writer->runOnce());
  CHECK(log == "bad! first told runs second told ");
}

TEST_CASE(
    "P3: a job that comes while another is committed in its caller's thread is done when that is, by the writer") {
  Fixture fixture;
  fixture.writer->startThread();
  std::string expected;
  // A thread of the writer that looks only after the commit has ended needs nobody to wake it. So it is given time to
  // look before, and it is done several times.
  constexpr int kRounds = 20;
  std::deque<NotingJob> lates;
  for (int round = 0; round < kRounds; ++round) {
    const auto ran = std::make_shared<std::promise<std::thread::id>>();
    std::future<std::thread::id> told = ran->get_future();
    NotingJob& late = lates.emplace_back("late", fixture.log, [ran](store::Store& store) {
      enqueueInto(store);
      ran->set_value(std::this_thread::get_id());
    });
    NotingJob lone("lone", fixture.log, [&](store::Store& store) {
      enqueueInto(store);
      fixture.writer->submit(late);
      for (int turn = 0; turn < 200; ++turn) {
        std::this_thread::yield();
      }
    });
    while (!fixture.writer->commitHere(lone)) {
      std::this_thread::yield();
    }
    REQUIRE(told.wait_for(kPatience) == std::future_status::ready);
    CHECK(told.get() != std::this_thread::get_id());
    expected += "lone late ";
  }
  fixture.writer->close();
  CHECK(fixture.log == expected);
  CHECK(fixture.pending() == 2 * kRounds);
}

TEST_CASE("a job that asks for a commit from inside a commit is sent to the queue") {
  Fixture fixture;
  NotingJob inner("inner", fixture.log, enqueueInto);
  bool refused = false;
  NotingJob outer("outer", fixture.log, [&](store::Store& store) {
    enqueueInto(store);
    refused = !fixture.writer->commitHere(inner);
  });
  REQUIRE(fixture.writer->commitHere(outer));
  CHECK(refused);
  CHECK(inner.runs == 0);
}

TEST_CASE("callers on many threads each get their commit, and a job may be destroyed by its own end") {
  StoreWorld world;
  const auto store = world.open();
  std::atomic<int> finished = 0;
  struct Owned final : store::Job {
    explicit Owned(std::atomic<int>& count) : counter(count) {}
    void run(store::Store& target) override { enqueueInto(target); }
    void done(const std::error_code& error) noexcept override {
      counter += error ? 0 : 1;
      delete this;
    }
    std::atomic<int>& counter;
  };
  {
    store::Writer writer(*store);
    writer.startThread();
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int count = 0; count < 500; ++count) {
          auto* const job = new Owned(finished);
          if (count % 2 == 0 || !writer.commitHere(*job)) {
            writer.submit(*job);
          }
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
  }
  CHECK(finished == 2'000);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().pending == 2'000);
}

}  // namespace writer_test
