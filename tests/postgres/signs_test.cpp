// Goal: what a process commits is delivered by another one's run at once, and not at its next poll.
// Method: polls that come in an hour; without signs, the test would wait for one.

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/postgres.hpp"
#include "postgres/connection.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace pg_signs_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

int listenAt(const std::filesystem::path& path) {
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the C API's type of addresses
  REQUIRE(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listening, 8) == 0);
  return listening;
}

}  // namespace

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

TEST_CASE("P12: a connection beside the store's leads to the same server, and waits for no other of the location's") {
  const PostgresDatabase database;
  postgres::Connection store(database.location());
  // A host that takes connections and never answers.
  const TempDir silent;
  const int listening = listenAt(silent.file(".s.PGSQL.5432"));
  const postgres::Connection beside("user=" + std::string(PQuser(store.handle())) + " dbname=" + database.name() +
                                        " host=" + silent.file("").parent_path().string() + "," +
                                        PQhost(store.handle()),
                                    store);
  CHECK(std::string(PQhost(beside.handle())) == PQhost(store.handle()));
  pollfd waiting{.fd = listening, .events = POLLIN, .revents = 0};
  CHECK(::poll(&waiting, 1, 0) == 0);
  ::close(listening);
}

}  // namespace pg_signs_test
