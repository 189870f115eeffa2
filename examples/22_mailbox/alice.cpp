// An agent behind NAT, in C++: it listens nowhere, sends to the hub, and fetches what was sent to it from its mailbox
// there. The entry, the balance and the message commit together, and so do the entry, the balance and the mark of what
// it gets; it survives kill -9 at any instant.
//
//   mailbox_alice FILE FOLDER HUB ENTRIES
//
// FOLDER has the authority, the key and the token that main.py made. HUB is the hub's address. So many entries are
// sent.

#include <SQLiteCpp/SQLiteCpp.h>
#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/mailbox_fetcher.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_writer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace ackbox;
using namespace std::chrono_literals;

constexpr int kBusyTimeoutMilliseconds = 30'000;
constexpr int kAccounts = 8;
constexpr auto kPace = 10ms;

void createTables(SQLite::Database& database) {
  // No constraint keeps an entry from being there twice: a repetition must show.
  database.exec(
      "CREATE TABLE IF NOT EXISTS sent(account TEXT, n INTEGER, amount INTEGER);"
      "CREATE TABLE IF NOT EXISTS applied(account TEXT, n INTEGER, amount INTEGER);"
      "CREATE TABLE IF NOT EXISTS balances(account TEXT PRIMARY KEY, amount INTEGER)");
}

void addToBalance(SQLite::Database& database, const std::string& account, std::int64_t amount) {
  SQLite::Statement add(database,
                        "INSERT INTO balances VALUES (?, ?) "
                        "ON CONFLICT(account) DO UPDATE SET amount = amount + excluded.amount");
  add.bind(1, account);
  add.bind(2, amount);
  add.exec();
}

HandlerResult apply(const InboundFrame& frame, InboundTransaction& transaction) {
  SQLite::Statement insert(transaction.database(),
                           "INSERT INTO applied SELECT ?1, ?2 ->> 'n', ?2 ->> 'amount' RETURNING amount");
  insert.bind(1, frame.session);
  insert.bind(2, frame.data);
  insert.executeStep();
  addToBalance(transaction.database(), frame.session, insert.getColumn(0).getInt64());
  return HandlerResult::ack();
}

/// Sends numbered entries, an account after the other, until there are so many.
class Feeder {
public:
  Feeder(OutboxManager& outbox, const std::filesystem::path& file, std::int64_t entries)
      : database_(file.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMilliseconds),
        writer_(outbox, database_),
        entries_(entries) {
    createTables(database_);
  }

  /// Returns false when all are sent.
  bool feed() {
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    const std::int64_t done = database_.execAndGet("SELECT count(*) FROM sent").getInt64();
    if (done >= entries_) {
      return false;
    }
    const std::string account = "account-" + std::to_string(done % kAccounts + 1);
    const std::int64_t number = done / kAccounts + 1;
    const std::int64_t amount = done * 37 % 100 + 1;
    SQLite::Statement insert(database_, "INSERT INTO sent VALUES (?, ?, ?)");
    insert.bind(1, account);
    insert.bind(2, number);
    insert.bind(3, amount);
    insert.exec();
    addToBalance(database_, account, -amount);
    const std::string data = R"({"n":)" + std::to_string(number) + R"(,"amount":)" + std::to_string(amount) + "}";
    const EnqueueReceipt receipt =
        writer_.enqueue({.peer = "bob", .session = account, .type = "ledger.entry", .data = data});
    if (!receipt.isNew()) {
      throw std::runtime_error("an entry was refused: " + receipt.detail);
    }
    transaction.commit();
    return true;
  }

private:
  SQLite::Database database_;
  OutboxWriter writer_;
  const std::int64_t entries_;
};

OutboxOptions outboxOptions(const std::filesystem::path& folder, const std::string& hub) {
  OutboxOptions options{.agent = "urn:agent:alice"};
  // What is sent to the hub's inbox for the agent bob goes into bob's mailbox.
  options.peers = {{.name = "bob",
                    .url = "https://" + hub + ":8090/inbox",
                    .agent = "urn:agent:bob",
                    .secrets = SecretSource::file(folder / "alice.key")}};
  options.ackTimeout = 500ms;
  // The hub is killed again and again, and back at once: look for it more often than one would elsewhere.
  options.peerHealth.probeDelays = {50ms, 100ms, 200ms, 400ms};
  // It dies of SIGKILL, never of a message that it was sent.
  options.peerHealth.killerThreshold = 0;
  return options;
}

void run(const std::filesystem::path& file, const std::filesystem::path& folder, const std::string& hub,
         std::int64_t entries) {
  auto outbox = OutboxManager::open(file, outboxOptions(folder, hub));
  const TlsClientOptions tls{.authorityFile = folder / "ca.pem"};
  outbox.setSender(std::make_shared<HttpSender>(HttpSenderOptions{.tls = tls}));
  Feeder feeder(outbox, file, entries);
  outbox.start();

  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:bob"}, .byMailbox = true}};
  InboundHandler inbox(outbox, apply, inbound);
  MailboxFetcherOptions mailbox;
  mailbox.url = "https://" + hub + ":7070";
  mailbox.token = SecretSource::file(folder / "alice.token");
  mailbox.agent = "urn:agent:alice";
  mailbox.tls = tls;
  mailbox.reconnectMost = 1s;
  MailboxFetcher fetcher(inbox, mailbox);
  boost::asio::io_context context;
  fetcher.start(context.get_executor());

  boost::asio::steady_timer pace(context);
  std::function<void(const boost::system::error_code&)> feed = [&](const boost::system::error_code& cancelled) {
    if (!cancelled && feeder.feed()) {
      pace.expires_after(kPace);
      pace.async_wait(feed);
    }
  };
  feed({});
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code, int) {
    pace.cancel();
    fetcher.stop();
  });
  std::cout << "ready" << std::endl;
  context.run();
  outbox.stop();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "usage: mailbox_alice FILE FOLDER HUB ENTRIES" << std::endl;
    return 2;
  }
  try {
    run(arguments[1], arguments[2], arguments[3], std::stoll(arguments[4]));
  } catch (const std::exception& error) {
    std::cerr << "mailbox_alice: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
