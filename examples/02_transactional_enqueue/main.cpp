// A business row and the frame that tells of it commit or roll back together, in one SQLite transaction of the
// application's own.

#include <SQLiteCpp/SQLiteCpp.h>

#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_writer.hpp>
#include <iostream>
#include <string>

int main() {
  using namespace ackbox;
  auto manager = OutboxManager::open("shop.db");
  SQLite::Database database("shop.db", SQLite::OPEN_READWRITE, 5000);
  // Each run begins without orders.
  database.exec("DROP TABLE IF EXISTS orders; CREATE TABLE orders(id INTEGER PRIMARY KEY, item TEXT)");
  const auto show = [&](const char* when) {
    const int orders = database.execAndGet("SELECT count(*) FROM orders");
    const auto frames = static_cast<int>(manager.getStats().pending);
    std::cout << when << ": " << orders << " orders, " << frames << " frames" << std::endl;
    return orders == frames ? orders : -1;
  };

  // [quote]
  OutboxWriter writer(manager, database);
  const auto placeOrder = [&](const std::string& item) {
    SQLite::Statement insert(database, "INSERT INTO orders(item) VALUES (?)");
    insert.bind(1, item);
    insert.exec();
    return writer.enqueue({.session = "orders", .type = "order.placed", .data = "\"" + item + "\""}).isNew();
  };

  // IMMEDIATE takes the write lock now. A transaction that reads first may fail later, when it wants to write.
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (placeOrder("lamp")) {
    transaction.commit();
  }
  // [end quote]
  const int committed = show("after the commit");
  {
    const SQLite::Transaction second(database, SQLite::TransactionBehavior::IMMEDIATE);
    if (!placeOrder("chair")) {
      return 1;
    }
  }  // Not committed: SQLiteCpp rolls back.
  const int rolledBack = show("after the rollback");

  manager.setSendFunction([](const std::string& session, const OutboundFrame& frame) {
    std::cout << session << " " << frame.sequence << ": " << frame.data << std::endl;
    return SendFunctionResult{.success = true};
  });
  const DrainReport sent = manager.drainOnce();
  return committed == 1 && rolledBack == 1 && sent.acked == 1 ? 0 : 1;
}
