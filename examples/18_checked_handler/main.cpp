// Tests a handler as an application's own tests do: with one frame, and in worlds full of faults. The handler is right
// in all of them. One that keeps its balance in memory is not, and the smallest world that shows it is printed.

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <ackbox/testing/check_handler.hpp>
#include <ackbox/testing/handler_trial.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace {

using namespace ackbox;

// [quote docs/testing.md]
const std::string kSchema =
    "CREATE TABLE account(balance INTEGER); INSERT INTO account VALUES (0);"
    "CREATE TABLE deposits(at INTEGER PRIMARY KEY, frame TEXT, balance INTEGER)";

HandlerResult book(const InboundFrame& frame, InboundTransaction& transaction, std::int64_t balance) {
  SQLite::Statement set(transaction.database(), "UPDATE account SET balance = ?");
  SQLite::bind(set, balance);
  set.exec();
  SQLite::Statement add(transaction.database(), "INSERT INTO deposits(frame, balance) VALUES (?, ?)");
  SQLite::bind(add, frame.id, balance);
  add.exec();
  const EnqueueReceipt reply = transaction.enqueue(
      {.peer = "alice", .type = "balance", .data = std::to_string(balance), .correlationId = frame.id});
  return reply.accepted() ? HandlerResult::ack() : HandlerResult::notNow("no room for the reply");
}

std::int64_t storedBalance(SQLite::Database& database) {
  return database.execAndGet("SELECT balance FROM account").getInt64();
}

/// The handler of production.
HandlerResult deposit(const InboundFrame& frame, InboundTransaction& transaction) {
  return book(frame, transaction, storedBalance(transaction.database()) + std::stoll(frame.data));
}

/// Called at each start of the receiver's process.
testing::CheckedHandler sound(testing::HandlerHost&) {
  return deposit;
}

/// The same with a defect: a balance in memory stays as it is when the transaction is undone.
testing::CheckedHandler careless(testing::HandlerHost&) {
  return [balance = std::optional<std::int64_t>()](const InboundFrame& frame, InboundTransaction& transaction) mutable {
    balance = balance.value_or(storedBalance(transaction.database())) + std::stoll(frame.data);
    return book(frame, transaction, *balance);
  };
}

/// What must hold in the end, whatever happened.
std::string invariant(SQLite::Database& database, const testing::Ledger& ledger) {
  std::string wrong = ledger.eachOnceInOrder(database, "SELECT frame FROM deposits ORDER BY at");
  wrong += ledger.repliesEqualEffects(database, "SELECT frame, balance FROM deposits");
  std::int64_t sum = 0;
  for (const testing::SentFrame& applied : ledger.applied()) {
    sum += std::stoll(applied.frame.data);
  }
  if (storedBalance(database) != sum) {
    wrong += "the balance is " + std::to_string(storedBalance(database)) + " and must be " + std::to_string(sum) + "\n";
  }
  return wrong;
}
// [end quote docs/testing.md]

}  // namespace

int main() {
  // [quote docs/testing.md]
  testing::HandlerTrial trial({.schema = kSchema});
  const testing::HandlerTrialResult one = trial.run(deposit, {.data = "7"});
  const bool isBooked = one.enqueued.size() == 1 && one.enqueued[0].data == "7" && one.written.size() == 3;

  testing::CheckOptions options;
  options.schema = kSchema;
  options.senders = {"alice"};
  const testing::CheckReport right = checkHandler(sound, invariant, options);
  const testing::CheckReport wrong = checkHandler(careless, invariant, options);
  // [end quote docs/testing.md]
  for (const std::string& row : one.written) {
    std::cout << row << "\n";
  }
  std::cout << "\nthe sound handler: " << right.text() << "\nthe careless one: " << wrong.text();
  return isBooked && right.passed() && !wrong.passed() ? 0 : 1;
}
