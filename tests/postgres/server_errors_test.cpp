// Goal: P13: what the server refuses is told in its words, with its SQLSTATE: to the call, to the operator and where
// the process says whether it is well. Method: tables that are renamed or locked for a time, on a clock that the test
// moves.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/postgres.hpp"
#include "base/mutex.hpp"
#include "postgres/connection.hpp"
#include "support/comes_to.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"

namespace server_errors_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

/// The records of an event, with their fields.
class Records {
public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      const MutexLock lock(mutex_);
      std::string fields;
      for (const auto& [name, value] : record.fields) {
        fields.append(" ").append(name).append("=").append(value);
      }
      kept_.append("\n").append(record.event).append(fields);
    };
  }
  [[nodiscard]] bool have(const std::string& text) {
    const MutexLock lock(mutex_);
    return kept_.find(text) != std::string::npos;
  }

private:
  Mutex mutex_;
  std::string kept_ ACKBOX_GUARDED_BY(mutex_);
};

/// An agent that delivers, and looks for news each 20 ms.
struct Agent {
  explicit Agent(std::chrono::milliseconds patience = std::chrono::seconds(5)) : busyTimeout(patience) {
    manager.setSender(ScriptedSender::always(Outcome::ack));
    manager.start();
  }
  ~Agent() { manager.stop(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  [[nodiscard]] OutboxOptions options() {
    OutboxOptions made;
    made.clock = clock;
    made.log = records.sink();
    made.pollInterval = std::chrono::milliseconds(20);
    made.sharedPollInterval = std::chrono::milliseconds(20);
    made.busyTimeout = busyTimeout;
    return made;
  }

  const std::chrono::milliseconds busyTimeout;
  const PostgresDatabase database;
  Records records;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxManager manager = OutboxManager::open(PostgresLocation{database.location()}, options());
};

}  // namespace

TEST_CASE("P13: a statement that the server refuses is told with its words, and the process is unwell until it runs") {
  Agent agent;
  CHECK(agent.manager.enqueue("s", "test", "1").accepted());
  CHECK(comesTo([&] { return agent.manager.getStats().pending == 0; }));
  CHECK(agent.manager.fileTrouble().empty());
  agent.database.run("ALTER TABLE ackbox.claims RENAME TO claims_gone");
  CHECK(agent.manager.enqueue("s", "test", "2").accepted());
  CHECK(comesTo([&] { return !agent.manager.fileTrouble().empty(); }));
  const std::string words = "relation \"ackbox.claims\" does not exist, SQLSTATE 42P01";
  CHECK(agent.manager.fileTrouble().find(words) != std::string::npos);
  CHECK(agent.records.have("error=" + words));
  agent.database.run("ALTER TABLE ackbox.claims_gone RENAME TO claims");
  CHECK(comesTo([&] {
    agent.clock->advance(std::chrono::seconds(1));
    return agent.manager.getStats().pending == 0;
  }));
  CHECK(comesTo([&] { return agent.records.have("well-again"); }));
  agent.clock->advance(std::chrono::seconds(10));
  CHECK(agent.manager.fileTrouble().empty());
}

TEST_CASE("P13: the call that the server refuses gets its words") {
  Agent agent;
  agent.database.run("ALTER TABLE ackbox.outbox RENAME COLUMN type TO kind");
  CHECK_THROWS_WITH_AS(agent.manager.enqueue("s", "test", "1"), doctest::Contains("SQLSTATE 42703"), Error);
  agent.database.run("ALTER TABLE ackbox.outbox RENAME COLUMN kind TO type");
  CHECK(agent.manager.enqueue("s", "test", "1").accepted());
}

TEST_CASE("P13: a lock that keeps the whole delivery out makes a process unwell after ten seconds") {
  // The clock stands still.
  Agent agent(std::chrono::milliseconds(0));
  const PostgresClient locking(agent.database.location());
  locking.run("BEGIN; LOCK TABLE ackbox.claims IN ACCESS EXCLUSIVE MODE");
  CHECK(agent.manager.enqueue("s", "test", "1").accepted());
  CHECK(comesTo([&] { return agent.records.have("unwell"); }));
  CHECK(agent.manager.fileTrouble().empty());
  agent.clock->advance(std::chrono::seconds(10));
  CHECK(agent.manager.fileTrouble().find("SQLSTATE 55P03") != std::string::npos);
  locking.run("ROLLBACK");
  CHECK(comesTo([&] {
    agent.clock->advance(std::chrono::seconds(1));
    return agent.manager.getStats().pending == 0;
  }));
}

TEST_CASE("P13: a process that opens the database of another agent's process says so, and a replica does not") {
  const PostgresDatabase database;
  Records records;
  const auto open = [&](const std::string& agent) {
    OutboxOptions options;
    options.agent = agent;
    options.log = records.sink();
    return OutboxManager::open(PostgresLocation{database.location()}, options);
  };
  const OutboxManager alice = open("urn:agent:alice");
  {
    const OutboxManager replica = open("urn:agent:alice");
    CHECK_FALSE(records.have("other-agent"));
  }
  const OutboxManager bob = open("urn:agent:bob");
  CHECK(records.have("other-agent file=" + ackbox::postgres::nameOf(database.location()) + " agent=urn:agent:alice"));
}

}  // namespace server_errors_test
