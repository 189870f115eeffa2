// Goal: what fails is told as what it is, once, and leaves nothing half done: P5 P7 P12.
// Method: the server's codes; a server that is out of reach, behind a counter of connections; triggers that refuse a
// statement; a child that was forked.

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/writer.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/messages.hpp"
#include "support/postgres_database.hpp"
#include "support/temp_dir.hpp"

namespace failures_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

class Noted final : public store::Job {
public:
  void run(store::Store& store) override { store.outbox().enqueue(frameOf("s")); }
  void done(const std::error_code& error) noexcept override { failure = error; }

  std::error_code failure;
};

/// A way to the server, which is closed later: each connection then ends at once, and is counted.
class Door {
public:
  Door() { std::filesystem::create_symlink(PostgresServer::get().folder() + "/.s.PGSQL.5432", path()); }
  ~Door() {
    // The wait for a connection ends.
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] std::string folder() const { return dir_.file("").string(); }
  void close() {
    std::filesystem::remove(path());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    thread_ = std::thread([this] {
      for (int client = ::accept(listener_, nullptr, nullptr); client >= 0;
           client = ::accept(listener_, nullptr, nullptr)) {
        ++knocks_;
        ::close(client);
      }
    });
  }
  [[nodiscard]] int knocks() const { return knocks_; }

private:
  [[nodiscard]] std::filesystem::path path() const { return dir_.file(".s.PGSQL.5432"); }

  const TempDir dir_;
  const int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::atomic<int> knocks_ = 0;
  std::thread thread_;
};

class NotedEvents final : public store::postgres::ConnectionEvents {
public:
  void lost(const std::string& why) override {
    told.emplace_back("lost");
    cause = why;
  }
  void back(std::chrono::milliseconds /*away*/) override { told.emplace_back("back"); }
  void serverChanged(const std::string& former, const std::string& present) override {
    if (endsAtChange) {
      throw std::runtime_error("the process ends");
    }
    told.push_back(former + " to " + present);
  }

  std::vector<std::string> told;
  std::string cause;
  bool endsAtChange = false;
};

}  // namespace

TEST_CASE("damage is what the server calls damage, and a cancelled statement is no busy database") {
  CHECK(postgres::errcOf("XX000") == Errc::databaseError);
  CHECK(postgres::errcOf("XX001") == Errc::databaseCorrupt);
  CHECK(postgres::errcOf("XX002") == Errc::databaseCorrupt);
  CHECK(postgres::errcOf("57014") == Errc::databaseError);
  CHECK(postgres::errcOf("57P01") == Errc::ioError);
  CHECK(postgres::errcOf("55P03") == Errc::databaseBusy);
  CHECK(postgres::errcOf("") == Errc::ioError);
}

TEST_CASE("P12: all jobs of a group are told at once that the server is out of reach") {
  const PostgresDatabase database;
  Door door;
  PostgresStore store("host=" + door.folder() + " user=postgres dbname=" + database.name(), {});
  store::Writer writer(store);
  door.close();
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  std::vector<Noted> jobs(10);
  for (Noted& job : jobs) {
    writer.submit(job);
  }
  CHECK(writer.runOnce());
  for (const Noted& job : jobs) {
    CHECK(job.failure == Errc::ioError);
  }
  CHECK(door.knocks() <= 2);
}

TEST_CASE("P7: a store whose restart fails half-way is an owner with a row afterwards") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  database.run("INSERT INTO ackbox.owners(pid,opened_at_ms,agent) VALUES(1,1,'urn:agent:alice')");
  database.run(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE "
      "TRIGGER refuse BEFORE DELETE ON ackbox.owners FOR EACH ROW EXECUTE FUNCTION refuse()");
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  CHECK_THROWS_AS(store.begin(true), Error);
  store.rollback();
  database.run("DROP TRIGGER refuse ON ackbox.owners");
  store.begin(true);
  CHECK(database.run("SELECT 1 FROM ackbox.owners WHERE id=" + std::to_string(store.owner())) == "1");
  store.rollback();
}

TEST_CASE("P5: what a settle had gathered when a statement failed is not written by the next one") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  for (const char* const session : {"a", "b", "c"}) {
    CHECK(enqueueOne(store, frameOf(session)).isNew());
  }
  const store::ClaimReply claimed = claimNew(store);
  REQUIRE(claimed.sessions.size() == 3);
  database.run(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE "
      "TRIGGER refuse BEFORE UPDATE OF blocked_by ON ackbox.session_states FOR EACH ROW EXECUTE FUNCTION refuse()");
  std::vector<delivery::Settlement> both = {settlementOf(claimed, delivery::Transition::ack, 0),
                                            settlementOf(claimed, delivery::Transition::fail, 1)};
  both[1].blocks = true;
  store.begin(false);
  CHECK_THROWS_AS(store.settles().settle(both), Error);
  store.rollback();
  const delivery::Settlement third = settlementOf(claimed, delivery::Transition::ack, 2);
  store.begin(false);
  CHECK(store.settles().settle({&third, 1}).front().has_value());
  store.commit();
  CHECK(database.run("SELECT count(*) FROM ackbox.outbox") == "2");
  const store::postgres::PostgresReader reader(database.location(), {});
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P13: what a process said of its handlers and applications is known after its connection was lost, too") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  store.begin(true);
  store.inbox().addHandlers(2);
  store.inbox().noteApplications(std::vector<Application>{{.types = "orders", .cause = "a stream"}});
  store.commit();
  const auto said = [&] { return database.run("SELECT deferred_handlers||' '||applications FROM ackbox.owners"); };
  const std::string before = said();
  CHECK(before.starts_with("2 "));
  CHECK(before.size() > 4);
  store.begin(true);
  store.inbox().addHandlers(1);
  store.rollback();
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  store.begin(true);
  store.commit();
  CHECK(said() == before);
}

TEST_CASE("P13: a changed server is told with both of its names, at the opening and at a reconnection") {
  const PostgresDatabase database;
  const auto events = std::make_shared<NotedEvents>();
  { const PostgresStore first(database.location(), {}, {}, events); }
  CHECK(events->told.empty());
  const std::string present = database.run("SELECT server FROM ackbox.meta");
  database.run("UPDATE ackbox.meta SET server='1/00000001'");
  PostgresStore store(database.location(), {}, {}, events);
  CHECK(events->told == std::vector<std::string>{"1/00000001 to " + present});
  events->told.clear();
  database.run("UPDATE ackbox.meta SET server='2/00000001'");
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  store.begin(true);
  store.rollback();
  CHECK(events->told == std::vector<std::string>{"lost", "2/00000001 to " + present, "back"});
}

TEST_CASE("P13: a changed server is told by the next process if one ends as it tells") {
  const PostgresDatabase database;
  const std::string present = [&] {
    const PostgresStore first(database.location(), {});
    return database.run("SELECT server FROM ackbox.meta");
  }();
  database.run("UPDATE ackbox.meta SET server='1/00000001'");
  const auto events = std::make_shared<NotedEvents>();
  events->endsAtChange = true;
  CHECK_THROWS_AS(PostgresStore(database.location(), {}, {}, events), std::runtime_error);
  events->endsAtChange = false;
  const PostgresStore next(database.location(), {}, {}, events);
  CHECK(events->told == std::vector<std::string>{"1/00000001 to " + present});
  CHECK(database.run("SELECT server FROM ackbox.meta") == present);
}

TEST_CASE("P13: a lost connection is told once, with its cause, however often it is tried in vain") {
  const PostgresDatabase database;
  Door door;
  const auto events = std::make_shared<NotedEvents>();
  PostgresStore store("host=" + door.folder() + " user=postgres dbname=" + database.name(), {}, {}, events);
  door.close();
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  for (int turn = 0; turn < 3; ++turn) {
    CHECK_THROWS_AS(store.begin(true), Error);
  }
  CHECK(events->told == std::vector<std::string>{"lost"});
  CHECK(events->cause.find("terminating connection") != std::string::npos);
}

TEST_CASE("counts that were lost are counted again from the rows") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  acceptFrame(store, inboundFrame(1));
  // Not even a peer has a row of them.
  database.run("DELETE FROM ackbox.peers");
  database.run("DELETE FROM ackbox.counts");
  CHECK(inTransaction(store, [&] { return store.repair(); }).mended == 1);
  const store::postgres::PostgresReader reader(database.location(), {});
  CHECK(reader.stats().inbox == 1);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P7: a process that ends has no locks, though a child that it forked has no program of its own") {
  const PostgresDatabase database;
  const auto fork = [](const auto& inChild) {
    const pid_t child = ::fork();
    if (child == 0) {
      inChild();
      ::_exit(0);
    }
    return child;
  };
  int childs[2];
  REQUIRE(::pipe(childs) == 0);
  const pid_t parent = fork([&] {
    PostgresStore store(database.location(), {});
    const pid_t grandchild = fork([] { ::pause(); });
    static_cast<void>(::write(childs[1], &grandchild, sizeof grandchild));
    ::_exit(0);
  });
  pid_t grandchild = 0;
  REQUIRE(::read(childs[0], &grandchild, sizeof grandchild) == sizeof grandchild);
  ::waitpid(parent, nullptr, 0);
  // Until the server has noticed it: not at all, if the child kept the connection.
  while (database.run("SELECT count(*) FROM pg_locks WHERE locktype='advisory' AND database=(SELECT oid FROM "
                      "pg_database WHERE datname=current_database())") != "0") {
  }
  ::kill(grandchild, SIGKILL);
  ::close(childs[0]);
  ::close(childs[1]);
}

}  // namespace failures_test
