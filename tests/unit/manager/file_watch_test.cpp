// Goal: what another process commits is sent at once, without a poll; and the watch tells once each time it is armed.
// Method: a real file; and two managers on one, whose polls are an hour apart.

#include "manager/run/file_watch.hpp"

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <fstream>
#include <memory>
#include <optional>
#include <semaphore>

#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::file_watch_test {
namespace {

using manager::FileWatch;
using testing::ScriptedSender;

void append(const std::filesystem::path& file) {
  std::ofstream(file, std::ios::app) << "more" << std::flush;
}

}  // namespace

TEST_CASE("writes, and the end of writers, are told of once each time that the watch is armed, also those in between") {
  const testing::TempDir dir;
  const std::filesystem::path file = dir.file("log");
  append(file);
  const std::filesystem::path other = dir.file("owners");
  auto owner = std::make_optional<std::ofstream>(other);
  boost::asio::io_context context;
  int told = 0;
  const auto watch = std::make_shared<FileWatch>(boost::asio::make_strand(context.get_executor()), [&told] { ++told; });
  REQUIRE(watch->watch(file, other));
  context.poll();
  CHECK(told == 0);
  append(file);
  context.run();
  CHECK(told == 1);
  append(file);
  append(file);
  context.restart();
  context.poll();
  CHECK(told == 1);
  watch->arm();
  watch->arm();
  context.restart();
  context.run();
  CHECK(told == 2);
  watch->arm();
  owner.reset();
  context.restart();
  context.run();
  CHECK(told == 3);
  watch->arm();
  watch->stop();
  append(file);
  context.restart();
  context.run();
  CHECK(told == 3);
}

TEST_CASE("what is not there cannot be watched, and holds nothing up") {
  const testing::TempDir dir;
  boost::asio::io_context context;
  const auto watch = std::make_shared<FileWatch>(context.get_executor(), [] {});
  CHECK_FALSE(watch->watch(dir.file("log"), dir.file("log")));
  CHECK(context.run() == 0);
}

TEST_CASE("what another process commits is sent at once, however rare the polls are") {
  const testing::TempDir dir;
  OutboxOptions options;
  options.pollInterval = std::chrono::hours(1);
  options.sharedPollInterval = std::chrono::hours(1);
  options.peers.emplace_back();
  OutboxManager sending = OutboxManager::open(dir.file("agent.db"), options);
  // As another process does, which has an owner's row and a connection of its own.
  OutboxManager other = OutboxManager::open(dir.file("agent.db"), options);
  sending.setSender(ScriptedSender::always(Outcome::ack));
  std::binary_semaphore acked{0};
  const Subscription subscription = sending.onAcked([&acked](const AckedEvent&) { acked.release(); });
  sending.start();
  const Frame frame = testing::testFrame("s");
  // The run has begun, and read what there was, once its own message is through.
  REQUIRE(sending.enqueue(frame).isNew());
  acked.acquire();
  for (int commit = 0; commit < 3; ++commit) {
    CAPTURE(commit);
    REQUIRE(other.enqueue(frame).isNew());
    REQUIRE(acked.try_acquire_for(std::chrono::seconds(30)));
  }
}

TEST_CASE("the close of the owners' file, as by an application that is no owner, has the file looked at at once") {
  const testing::TempDir dir;
  OutboxOptions options;
  options.pollInterval = std::chrono::hours(1);
  options.peers.emplace_back();
  OutboxManager sending = OutboxManager::open(dir.file("agent.db"), options);
  sending.setSender(ScriptedSender::always(Outcome::ack));
  std::binary_semaphore acked{0};
  const Subscription subscription = sending.onAcked([&acked](const AckedEvent&) { acked.release(); });
  sending.start();
  const Frame frame = testing::testFrame("s");
  REQUIRE(sending.enqueue(frame).isNew());
  acked.acquire();
  options.adoptPeers = true;
  for (int commit = 0; commit < 3; ++commit) {
    CAPTURE(commit);
    SQLite::Database application(dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
    store::sqlite::ApplicationWriter writer(application.getHandle(), options, {});
    application.exec("BEGIN IMMEDIATE");
    REQUIRE(writer.enqueue(frame).isNew());
    application.exec("COMMIT");
    std::ofstream(dir.file("agent.db-ackbox-owners"), std::ios::app).close();
    REQUIRE(acked.try_acquire_for(std::chrono::seconds(30)));
  }
}

}  // namespace ackbox::file_watch_test
