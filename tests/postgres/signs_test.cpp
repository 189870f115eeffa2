// Goal: what a process commits is delivered by another one's run at once, and not at its next poll.
// Method: polls that come in an hour; without signs, the test would wait for one.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/postgres.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"

namespace pg_signs_test {

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("a run hears of the messages that other processes have committed, one after the other") {
  const PostgresDatabase database;
  OutboxOptions options;
  options.pollInterval = std::chrono::hours(1);
  options.sharedPollInterval = std::chrono::hours(1);
  const PostgresLocation location{database.location()};
  OutboxManager other = OutboxManager::open(location, options);
  OutboxManager delivering = OutboxManager::open(location, options);
  const std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  delivering.setSender(sender);
  CHECK(delivering.enqueue("s", "test", "1").accepted());
  delivering.start();
  sender->waitForFrames(1);
  for (std::size_t sent = 2; sent < 6; ++sent) {
    CHECK(other.enqueue("s", "test", "2").accepted());
    sender->waitForFrames(sent);
  }
  delivering.stop();
}

TEST_CASE("a run whose connection for signs was ended hears of others' messages again") {
  const PostgresDatabase database;
  OutboxOptions options;
  options.pollInterval = std::chrono::milliseconds(20);
  options.sharedPollInterval = std::chrono::milliseconds(20);
  OutboxManager delivering = OutboxManager::open(PostgresLocation{database.location()}, options);
  delivering.setSender(ScriptedSender::always(Outcome::ack));
  delivering.start();
  const auto listening = [&] {
    return database.run(
        "SELECT coalesce(max(pid),0) FROM pg_stat_activity WHERE datname=current_database() AND query='LISTEN "
        "ackbox'");
  };
  std::string first = "0";
  while (first == "0") {
    first = listening();
  }
  database.run("SELECT pg_terminate_backend(" + first + ", 10000)");
  while (listening() == "0") {
  }
  CHECK(listening() != first);
  delivering.stop();
}

}  // namespace pg_signs_test
