// Backups of both sides while they run, and what happens when each is put back (docs/restore.md). A restored sender
// notices that its peer knows more than its file, and goes on as a new store. A restored receiver is noticed by its
// sender, which sends again what it has kept. In the end each order stands in the receiver's table once.

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_operator.hpp>
#include <ackbox/outbox_reader.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <semaphore>
#include <string>

#include "reserved_port.hpp"

namespace {

using namespace ackbox;
namespace fs = std::filesystem;

/// Of a file in use, at one moment. In a shell: ackbox backup FILE FILE-backup --overwrite.
void backUp(const std::string& file) {
  fs::remove(file + "-backup");
  OutboxReader::open(file).backUp(file + "-backup");
}

/// Only while no process has the outbox open. A log left behind would be applied to the restored file. In a shell:
/// ackbox restore FILE-backup FILE.
void putBack(const std::string& file) {
  for (const char* part : {"", "-wal", "-shm"}) {
    if (fs::exists(file + part)) {
      fs::rename(file + part, file + "-lost" + part);
    }
  }
  fs::copy_file(file + "-backup", file);
  if (!OutboxReader::open(file).verify().clean()) {
    throw std::runtime_error(file + " has broken invariants");
  }
}

/// Keeps orders in a table of the file that holds the marks, so that both go back together.
class Bob {
public:
  explicit Bob(std::uint16_t port)
      : outbox_(OutboxManager::open("bob.db", {.agent = "urn:agent:bob"})),
        inbox_(outbox_, store, {.allowAnonymous = true}),
        server_(inbox_, {.port = port}) {
    SQLite::Database("bob.db", SQLite::OPEN_READWRITE, 5000).exec("CREATE TABLE IF NOT EXISTS orders(number INTEGER)");
  }

private:
  static HandlerResult store(const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement insert(transaction.database(), "INSERT INTO orders VALUES (?)");
    SQLite::bind(insert, frame.data);
    insert.exec();
    return HandlerResult::ack();
  }

  OutboxManager outbox_;
  InboundHandler inbox_;
  InboundServer server_;
};

class Alice {
public:
  explicit Alice(const std::string& url) : outbox_(OutboxManager::open("alice.db", options(url))) {
    outbox_.setSender(std::make_shared<HttpSender>());
    outbox_.start();
  }
  void order(int number) { outbox_.enqueue("orders", "order.placed", std::to_string(number)); }
  void deliver(int number) {
    order(number);
    acked_.acquire();
  }
  PeerResetEvent awaitReset() {
    reset_.acquire();
    return event_;
  }
  void awaitAck() { acked_.acquire(); }

private:
  static OutboxOptions options(const std::string& url) {
    OutboxOptions options{.agent = "urn:agent:alice", .peers = {{.url = url}}};
    // Longer than the oldest backup of the receiver that may be put back; needed by `resend`.
    options.ackedRetention = std::chrono::hours(24);
    options.peerReset = PeerResetPolicy::resend;  // Because bob's effects are in his file, and go back with it.
    options.peerHealth.probeDelays = {std::chrono::milliseconds(20)};
    options.log = [](const LogRecord&) {};
    return options;
  }

  OutboxManager outbox_;
  std::counting_semaphore<> acked_{0};
  std::counting_semaphore<> reset_{0};
  PeerResetEvent event_;
  Subscription onAcked_ = outbox_.onAcked([this](const AckedEvent&) { acked_.release(); });
  Subscription onReset_ = outbox_.onPeerReset([this](const PeerResetEvent& event) {
    event_ = event;
    reset_.release();
  });
};

void show(const PeerResetEvent& event) {
  std::cout << toString(event.kind) << ": expected " << event.expected << ", accepted " << event.accepted << ", "
            << event.resent << " sent again" << std::endl;
}

}  // namespace

int main() {
  const ReservedPort port;
  auto bob = std::make_unique<Bob>(port.number());
  auto alice = std::make_unique<Alice>(port.url());
  alice->deliver(1);
  alice->deliver(2);
  backUp("alice.db");
  alice->deliver(3);

  alice.reset();  // Her disk fails.
  putBack("alice.db");
  alice = std::make_unique<Alice>(port.url());
  alice->order(4);  // Under number 3 of its session, which bob knows as another message.
  show(alice->awaitReset());
  alice.reset();
  // In a shell: ackbox restore alice.db alice.db --identity new
  OutboxOperator::makeNewStore("alice.db");
  alice = std::make_unique<Alice>(port.url());
  alice->awaitAck();

  backUp("bob.db");
  alice->deliver(5);
  alice->deliver(6);
  bob.reset();  // His disk fails.
  putBack("bob.db");
  bob = std::make_unique<Bob>(port.number());
  alice->order(7);
  show(alice->awaitReset());
  for (int again = 5; again <= 7; ++again) {
    alice->awaitAck();
  }
  alice.reset();
  bob.reset();
  SQLite::Database orders("bob.db");
  const std::string numbers = orders.execAndGet("SELECT group_concat(number, ' ') FROM orders");
  std::cout << "bob has " << numbers << std::endl;
  return numbers == "1 2 3 4 5 6 7" ? 0 : 1;
}
