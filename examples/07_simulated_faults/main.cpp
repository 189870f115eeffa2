// Tests a handler of ours against what it will meet one day: every request arrives twice, answers are lost, the network
// is cut, and SIGKILL strikes between any two writes. All of it in one thread on virtual time, with real files and the
// real protocol, a world a seed: the same seed goes the same way again.

#include <SQLiteCpp/SQLiteCpp.h>

#include <ackbox/inbound_handler.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/testing/simulation.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace {

using namespace ackbox;
using namespace std::chrono_literals;

constexpr int kDeposits = 20;
constexpr std::uint64_t kWorlds = 20;

/// What our agent does, as it is to run in production: the new balance is a write of its own transaction.
HandlerResult book(const InboundFrame& frame, InboundTransaction& transaction) {
  SQLite::Statement deposit(transaction.database(), "UPDATE account SET balance = balance + ?");
  deposit.bind(1, std::stoi(frame.data));
  deposit.exec();
  return HandlerResult::ack();
}

/// The same with a defect that no ordinary test finds: the new balance is kept outside the transaction.
HandlerResult bookCarelessly(const InboundFrame& frame, InboundTransaction& transaction) {
  static int cached = 0;
  cached = transaction.database().execAndGet("SELECT balance FROM account").getInt() == 0 ? 0 : cached;
  cached += std::stoi(frame.data);
  SQLite::Statement deposit(transaction.database(), "UPDATE account SET balance = ?");
  deposit.bind(1, cached);
  deposit.exec();
  return HandlerResult::ack();
}

/// Lets alice make her deposits at the bank in the world of this seed, and returns the balance in the end.
int balanceAfterFaults(std::uint64_t seed, const FrameHandler& handler) {
  const std::filesystem::path directory = "world-" + std::to_string(seed);
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  const std::string file = (directory / "bank.db").string();
  SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE account(balance); INSERT INTO account VALUES (0)");
  struct Agent {
    OutboxManager outbox;
    std::optional<InboundHandler> inbox = {};
  };
  testing::Simulation world(seed);
  // Called at each start of the process, so that recovery is what is tested.
  world.add("bank", [&](testing::SimulatedProcess& process) {
    const auto bank =
        std::make_shared<Agent>(Agent{OutboxManager::open(file, process.options({.agent = "urn:agent:bank"}))});
    bank->inbox.emplace(bank->outbox, handler, InboundOptions{.allowAnonymous = true});
    process.listen(*bank->inbox);
    return bank;
  });
  OutboxManager* alice = nullptr;
  world.add("alice", [&](testing::SimulatedProcess& process) {
    const OutboxOptions options = {.agent = "urn:agent:alice", .peers = {{.url = "sim://bank"}}};
    const auto agent =
        std::make_shared<Agent>(Agent{OutboxManager::open(directory / "alice.db", process.options(options))});
    agent->outbox.setSender(process.sender());
    agent->outbox.runThen(process.executor(), [](std::error_code) {});
    alice = &agent->outbox;
    return agent;
  });
  world.start("alice");

  world.network().setFaults({.cutAfter = 0.2, .answerLost = 0.1, .duplicated = 1});
  for (int deposit = 0; deposit < kDeposits; ++deposit) {
    if (!world.running("bank")) {
      world.start("bank");
    }
    alice->enqueue("account", "account.deposit", "10");
    world.killAtWrite("bank", world.random().next() % 40);
    if (deposit % 5 == 0) {
      world.network().block("bank", "alice");  // Until `heal`, alice receives no answer.
    }
    world.runFor(300ms);
  }
  world.network().heal();
  const auto delivered = [&] { return alice->getStats().pending + alice->getStats().sending == 0; };
  while (!world.runUntil(delivered, 1min)) {
    world.kill("bank");
    world.start("bank");
  }
  world.kill("bank");
  return SQLite::Database(file).execAndGet("SELECT balance FROM account");
}

/// In how many worlds the balance was wrong.
int wrongWorlds(const FrameHandler& handler) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    wrong += balanceAfterFaults(seed, handler) == 10 * kDeposits ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main() {
  const int careful = wrongWorlds(book);
  std::cout << "the handler is right in " << kWorlds - static_cast<std::uint64_t>(careful) << " of " << kWorlds
            << " worlds" << std::endl;
  const int careless = wrongWorlds(bookCarelessly);
  std::cout << "its careless brother is " << (careless > 0 ? "found out" : "not found out") << std::endl;
  return careful == 0 && careless > 0 ? 0 : 1;
}
