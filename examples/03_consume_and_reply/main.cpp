// Consume and reply, exactly once: what a handler writes, the mark that makes its frame a duplicate, and the reply that
// it enqueues commit together. Here every first try is undone after its writes, and nothing of it is left.

#include <SQLiteCpp/SQLiteCpp.h>

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <atomic>
#include <iostream>
#include <semaphore>
#include <string>

int main() {
  using namespace ackbox;
  auto bank = OutboxManager::open("bank.db", {.agent = "urn:agent:bank", .peers = {{.name = "alice"}}});
  SQLite::Database accounts("bank.db", SQLite::OPEN_READWRITE, 5000);
  // Each run begins with an empty account.
  accounts.exec("DROP TABLE IF EXISTS account; CREATE TABLE account(balance); INSERT INTO account VALUES (0)");

  std::atomic<int> tries = 0;
  // [quote]
  const auto book = [&](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement deposit(transaction.database(), "UPDATE account SET balance = balance + ? RETURNING balance");
    deposit.bind(1, std::stoi(frame.data));
    deposit.executeStep();
    const std::string balance = deposit.getColumn(0);
    deposit.reset();
    transaction.enqueue({.peer = "alice", .session = "statements", .type = "account.balance", .data = balance});
    return HandlerResult::ack();
  };
  // [end quote]
  const auto bookAtSecondTry = [&](const InboundFrame& frame, InboundTransaction& transaction) {
    const HandlerResult booked = book(frame, transaction);
    return ++tries % 2 == 1 ? HandlerResult::notNow("undone") : booked;
  };
  InboundHandler handler(bank, bookAtSecondTry, {.allowAnonymous = true});
  InboundServer server(handler);
  std::counting_semaphore<> replies(0);
  // Stands for another HttpSender to alice's inbox.
  bank.setSendFunction([&](const std::string&, const OutboundFrame& frame) {
    std::cout << "alice hears of " << frame.data << std::endl;
    replies.release();
    return SendFunctionResult{.success = true};
  });
  bank.start();

  OutboxOptions options{.agent = "urn:agent:alice", .peers = {{.name = "bank", .url = server.url()}}};
  options.retry.delays = {std::chrono::milliseconds(1)};
  auto alice = OutboxManager::open("alice.db", options);
  alice.setSender(std::make_shared<HttpSender>());
  alice.start();
  constexpr int kDeposits = 3;
  for (int deposit = 1; deposit <= kDeposits; ++deposit) {
    alice.enqueue(
        {.peer = "bank", .session = "account", .type = "account.deposit", .data = std::to_string(10 * deposit)});
  }
  for (int reply = 0; reply < kDeposits; ++reply) {
    replies.acquire();
  }
  alice.stop();
  bank.stop();

  const int balance = accounts.execAndGet("SELECT balance FROM account");
  std::cout << tries << " tries, balance " << balance << std::endl;
  return tries == 2 * kDeposits && balance == 60 ? 0 : 1;
}
