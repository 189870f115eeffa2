#include "simulation/postgres_wire.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "ackbox/testing/simulation.hpp"
#include "simulation/swarm.hpp"
#include "support/comes_to.hpp"

namespace ackbox::simulation {
namespace {

std::map<std::string, std::weak_ptr<PostgresWire>>& wires() {
  static std::map<std::string, std::weak_ptr<PostgresWire>> all;
  return all;
}

// The server carries out all that it has got, and then finds the end. What it answers is thrown away: if nobody took
// it, the server would wait.
void end(PGconn* connection) {
  const int socket = PQsocket(connection);
  if (socket < 0) {
    return;
  }
  const int serversProcess = PQbackendPID(connection);
  ::shutdown(socket, SHUT_WR);
  const bool hasEnded = testing::comesTo([&] {
    std::array<char, 65'536> answer{};
    while (::recv(socket, answer.data(), answer.size(), MSG_DONTWAIT) > 0) {
    }
    return ::kill(serversProcess, 0) != 0 && errno == ESRCH;
  });
  if (!hasEnded) {
    // Its callers are libpq's, which no exception may pass.
    std::fprintf(stderr, "the server's process %d has not ended a minute after its connection\n", serversProcess);
    std::abort();
  }
}

}  // namespace

std::shared_ptr<PostgresWire> PostgresWire::make(testing::SimulatedProcess& process, std::function<void()> lost) {
  static std::uint64_t last = 0;
  const std::string name = "simulated_" + std::to_string(++last) + "_";
  auto made = std::make_shared<PostgresWire>(process, name, std::move(lost));
  wires()[name] = made;
  process.whenDead([made] { made->loseAll(); });
  return made;
}

PostgresWire::PostgresWire(testing::SimulatedProcess& process, std::string name, std::function<void()> lost)
    : process_(process),
      name_(std::move(name)),
      lost_(std::move(lost)),
      random_(seededRandom(process.random().next())) {}

PostgresWire::~PostgresWire() {
  wires().erase(name_);
}

std::shared_ptr<PostgresWire> PostgresWire::in(const std::string& location) {
  for (const auto& [name, wire] : wires()) {
    if (location.find(name) != std::string::npos) {
      return wire.lock();
    }
  }
  return nullptr;
}

bool PostgresWire::mayConnect() {
  return !isOver_ && process_.mayWrite();
}

PostgresWire::Fate PostgresWire::next(bool isDurableCommit) {
  const bool mayPass = isOver_ || process_.mayWrite();
  if (mayPass && !(waitsForCommit_ && isDurableCommit)) {
    return Fate::passes;
  }
  if (!process_.isDead() && !isDurableCommit && drawChance(*random_, 0.5)) {
    waitsForCommit_ = true;
    return Fate::passes;
  }
  waitsForCommit_ = false;
  return drawChance(*random_, 0.5) ? Fate::lostBefore : Fate::lostAfter;
}

void PostgresWire::lose(PGconn* connection) {
  if (process_.isDead()) {
    loseAll();
  } else {
    end(connection);
    lost_();
  }
}

void PostgresWire::loseAll() {
  if (std::exchange(isOver_, true)) {
    return;
  }
  for (PGconn* const connection : connections_) {
    end(connection);
  }
}

}  // namespace ackbox::simulation
