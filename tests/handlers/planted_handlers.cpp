#include "handlers/planted_handlers.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "ackbox/outbox_manager.hpp"

namespace ackbox::test {
namespace {

using testing::CheckedHandler;
using testing::HandlerHost;

std::int64_t amountOf(const InboundFrame& frame) {
  return std::stoll(frame.data);
}

std::int64_t storedBalance(SQLite::Database& database) {
  return database.execAndGet("SELECT balance FROM account").getInt64();
}

void addDeposit(SQLite::Database& database, const InboundFrame& frame, std::int64_t balance) {
  SQLite::Statement add(database, "INSERT INTO deposits(frame, amount, balance) VALUES(?, ?, ?)");
  SQLite::bind(add, frame.id, amountOf(frame), balance);
  add.exec();
}

void setBalance(SQLite::Database& database, std::int64_t balance) {
  SQLite::Statement set(database, "UPDATE account SET balance = ?");
  set.bind(1, balance);
  set.exec();
}

/// The effect: a deposit and the new balance. Returns that.
std::int64_t deposit(SQLite::Database& database, const InboundFrame& frame) {
  const std::int64_t balance = storedBalance(database) + amountOf(frame);
  addDeposit(database, frame, balance);
  setBalance(database, balance);
  return balance;
}

Frame replyTo(const InboundFrame& frame, std::int64_t balance) {
  Frame reply;
  reply.peer = frame.source.substr(std::string("urn:agent:").size());
  reply.session = "receipts";
  reply.type = "account.balance";
  reply.data = std::to_string(balance);
  reply.correlationId = frame.id;
  return reply;
}

/// The right end: the reply belongs to the transaction, and without it nothing is done.
HandlerResult reply(const InboundFrame& frame, InboundTransaction& transaction, std::int64_t balance) {
  if (!transaction.enqueue(replyTo(frame, balance)).accepted()) {
    return HandlerResult::notNow("no room for the reply");
  }
  return HandlerResult::ack();
}

HandlerResult book(const InboundFrame& frame, InboundTransaction& transaction) {
  return reply(frame, transaction, deposit(transaction.database(), frame));
}

CheckedHandler soundInline(HandlerHost&) {
  return book;
}

CheckedHandler soundDeferred(HandlerHost&) {
  const auto handler = [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); };
  const auto deferred = [](DeferredFrame frame) {
    const InboundFrame read = frame.frame();
    frame.commit([read](InboundTransaction& transaction) { return book(read, transaction); });
  };
  return {handler, deferred};
}

/// Half of the frames are deferred.
CheckedHandler soundMixed(HandlerHost&) {
  const auto handler = [](const InboundFrame& frame, InboundTransaction& transaction) {
    return amountOf(frame) % 2 == 0 ? HandlerResult::defer() : book(frame, transaction);
  };
  const auto deferred = [](DeferredFrame frame) {
    const InboundFrame read = frame.frame();
    frame.commit([read](InboundTransaction& transaction) { return book(read, transaction); });
  };
  return {handler, deferred};
}

CheckedHandler balanceInMemory(HandlerHost&) {
  return [balance = std::optional<std::int64_t>()](const InboundFrame& frame, InboundTransaction& transaction) mutable {
    balance = balance.value_or(storedBalance(transaction.database())) + amountOf(frame);
    addDeposit(transaction.database(), frame, *balance);
    setBalance(transaction.database(), *balance);
    return reply(frame, transaction, *balance);
  };
}

CheckedHandler cacheNotFilled(HandlerHost&) {
  // Read again after each commit that is not this handler's, but not at a start.
  return
      [balance = std::int64_t{0}, isKnown = true](const InboundFrame& frame, InboundTransaction& transaction) mutable {
        const std::int64_t before = isKnown ? balance : storedBalance(transaction.database());
        addDeposit(transaction.database(), frame, before + amountOf(frame));
        setBalance(transaction.database(), before + amountOf(frame));
        const HandlerResult result = reply(frame, transaction, before + amountOf(frame));
        isKnown = false;
        return result;
      };
}

CheckedHandler countsInMemory(HandlerHost& host) {
  const auto count =
      std::make_shared<std::int64_t>(SQLite::Database(host.file.string(), SQLite::OPEN_READONLY, 0, host.vfs)
                                         .execAndGet("SELECT count(*) FROM deposits")
                                         .getInt64());
  return [count](const InboundFrame& frame, InboundTransaction& transaction) {
    const std::int64_t balance = deposit(transaction.database(), frame);
    SQLite::Statement number(transaction.database(), "UPDATE deposits SET number = ? WHERE frame = ?");
    SQLite::bind(number, ++*count, frame.id);
    number.exec();
    return reply(frame, transaction, balance);
  };
}

CheckedHandler effectInOwnFile(HandlerHost& host) {
  const auto journal = std::make_shared<SQLite::Database>((host.file.parent_path() / "journal.db").string(),
                                                          SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, host.vfs);
  journal->exec("PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS entries(frame TEXT)");
  return [journal](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement add(*journal, "INSERT INTO entries VALUES(?)");
    add.bind(1, frame.id);
    add.exec();
    return book(frame, transaction);
  };
}

CheckedHandler ownConnection(HandlerHost& host, bool isRepeatable, bool swallows) {
  const auto own = std::make_shared<SQLite::Database>(host.file.string(), SQLite::OPEN_READWRITE, 0, host.vfs);
  const auto handler = [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); };
  const auto deferred = [own, isRepeatable, swallows](DeferredFrame frame) {
    const InboundFrame& read = frame.frame();
    try {
      SQLite::Transaction transaction(*own, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement known(*own, "SELECT balance FROM deposits WHERE frame = ?");
      known.bind(1, read.id);
      if (!isRepeatable || !known.executeStep()) {
        deposit(*own, read);
      }
      known.reset();
      transaction.commit();
    } catch (const SQLite::Exception&) {
      if (!swallows) {
        throw;
      }
    }
    frame.commit([read](InboundTransaction& transaction) {
      SQLite::Statement balance(transaction.database(), "SELECT max(balance) FROM deposits WHERE frame = ?");
      balance.bind(1, read.id);
      balance.executeStep();
      const std::int64_t found = balance.getColumn(0).getInt64();
      balance.reset();
      return reply(read, transaction, found);
    });
  };
  return {handler, deferred};
}

CheckedHandler orderAcrossSessions(HandlerHost&) {
  return [](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement newest(transaction.database(), "SELECT max(amount) FROM deposits");
    newest.executeStep();
    const bool isOld = amountOf(frame) < newest.getColumn(0).getInt64();
    newest.reset();
    // Amounts grow with each frame: a smaller one is taken for a repetition.
    return isOld ? HandlerResult::ack() : book(frame, transaction);
  };
}

CheckedHandler orderByClock(HandlerHost&) {
  return [](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement advance(transaction.database(),
                              "INSERT INTO clocks VALUES(?1, ?2) ON CONFLICT DO UPDATE SET at = excluded.at"
                              " WHERE excluded.at > at");
    const std::int64_t at = frame.time ? frame.time->time_since_epoch().count() : 0;
    SQLite::bind(advance, frame.source + frame.session, at);
    return advance.exec() == 0 ? HandlerResult::ack() : book(frame, transaction);
  };
}

CheckedHandler dedupeBySession(HandlerHost&) {
  return [](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement see(transaction.database(), "INSERT OR IGNORE INTO seen VALUES(?, ?)");
    SQLite::bind(see, frame.session, static_cast<std::int64_t>(frame.sequence));
    return see.exec() == 0 ? HandlerResult::ack() : book(frame, transaction);
  };
}

CheckedHandler replyBeforeEffect(HandlerHost&) {
  // Writes each deposit with the next one, to spare a statement.
  const auto late = std::make_shared<std::optional<InboundFrame>>();
  return [late](const InboundFrame& frame, InboundTransaction& transaction) {
    if (*late) {
      deposit(transaction.database(), **late);
    }
    *late = frame;
    return reply(frame, transaction, storedBalance(transaction.database()) + amountOf(frame));
  };
}

CheckedHandler replyOutside(HandlerHost& host) {
  return [&outbox = host.outbox](const InboundFrame& frame, InboundTransaction& transaction) {
    const std::int64_t balance = deposit(transaction.database(), frame);
    outbox.enqueueThen(replyTo(frame, balance), [](std::error_code, const EnqueueReceipt&) {});
    return HandlerResult::ack();
  };
}

CheckedHandler replyFirstOutside(HandlerHost& host) {
  return [&outbox = host.outbox](const InboundFrame& frame, InboundTransaction& transaction) {
    const std::int64_t balance = storedBalance(transaction.database()) + amountOf(frame);
    Frame early = replyTo(frame, balance);
    // Repetitions of the reply are recognised. Its content was true when it was enqueued.
    early.id = "reply-" + frame.id;
    outbox.enqueueThen(std::move(early), [](std::error_code, const EnqueueReceipt&) {});
    deposit(transaction.database(), frame);
    return HandlerResult::ack();
  };
}

CheckedHandler refusalIgnored(HandlerHost&) {
  return [](const InboundFrame& frame, InboundTransaction& transaction) {
    transaction.enqueue(replyTo(frame, deposit(transaction.database(), frame)));
    return HandlerResult::ack();
  };
}

CheckedHandler ackWithoutEffect(HandlerHost&) {
  return [](const InboundFrame& frame, InboundTransaction& transaction) {
    // Nobody has made a row for a new owner.
    SQLite::Statement add(transaction.database(), "UPDATE owners SET total = total + ? WHERE name = ?");
    SQLite::bind(add, amountOf(frame), frame.source);
    return add.exec() == 0 ? HandlerResult::ack() : book(frame, transaction);
  };
}

CheckedHandler writesThenDefers(HandlerHost&) {
  const auto handler = [](const InboundFrame& frame, InboundTransaction& transaction) {
    deposit(transaction.database(), frame);
    return HandlerResult::defer();
  };
  const auto deferred = [](DeferredFrame frame) {
    const InboundFrame read = frame.frame();
    frame.commit([read](InboundTransaction& transaction) {
      return reply(read, transaction, storedBalance(transaction.database()));
    });
  };
  return {handler, deferred};
}

CheckedHandler commitFromMemory(HandlerHost&) {
  const auto handler = [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); };
  // By sessions that work beside each other, from a balance that was read before the commit.
  const auto balance = std::make_shared<std::int64_t>(-1);
  const auto deferred = [balance](DeferredFrame frame) {
    const InboundFrame read = frame.frame();
    frame.commit([read, balance](InboundTransaction& transaction) {
      *balance = (*balance < 0 ? storedBalance(transaction.database()) : *balance) + amountOf(read);
      addDeposit(transaction.database(), read, *balance);
      setBalance(transaction.database(), *balance);
      return reply(read, transaction, *balance);
    });
  };
  return {handler, deferred};
}

}  // namespace

testing::CheckOptions bankOptions() {
  testing::CheckOptions options;
  options.schema =
      "CREATE TABLE account(balance INTEGER); INSERT INTO account VALUES(0);"
      "CREATE TABLE deposits(at INTEGER PRIMARY KEY, frame TEXT, amount INTEGER, balance INTEGER, number INTEGER);"
      "CREATE TABLE clocks(session TEXT PRIMARY KEY, at INTEGER);"
      "CREATE TABLE seen(session TEXT, sequence INTEGER, PRIMARY KEY(session, sequence));"
      "CREATE TABLE owners(name TEXT PRIMARY KEY, total INTEGER)";
  return options;
}

std::string bankInvariant(SQLite::Database& database, const testing::Ledger& ledger) {
  std::string wrong = ledger.eachOnceInOrder(database, "SELECT frame FROM deposits ORDER BY at");
  wrong += ledger.repliesEqualEffects(database, "SELECT frame, balance FROM deposits");
  std::int64_t sum = 0;
  std::int64_t numbered = 0;
  SQLite::Statement rows(database, "SELECT frame, amount, balance, number FROM deposits ORDER BY at");
  while (rows.executeStep()) {
    sum += rows.getColumn(1).getInt64();
    if (rows.getColumn(2).getInt64() != sum) {
      wrong += "the balance after " + rows.getColumn(0).getString() + " is " + rows.getColumn(2).getString() +
               ", and must be " + std::to_string(sum) + "\n";
      break;
    }
    if (!rows.getColumn(3).isNull() && rows.getColumn(3).getInt64() != ++numbered) {
      wrong += "the deposit " + rows.getColumn(0).getString() + " has the number " + rows.getColumn(3).getString() +
               ", and must have " + std::to_string(numbered) + "\n";
      break;
    }
  }
  if (storedBalance(database) != sum) {
    wrong +=
        "the balance is " + std::to_string(storedBalance(database)) + ", and must be " + std::to_string(sum) + "\n";
  }
  if (const auto journal = ledger.folder() / "journal.db"; std::filesystem::exists(journal)) {
    SQLite::Database other(journal.string(), SQLite::OPEN_READWRITE);
    wrong += ledger.eachOnce(other, "SELECT frame FROM entries");
  }
  return wrong;
}

std::vector<PlantedHandler> soundHandlers() {
  return {
      {"books in its transaction", "", soundInline},
      {"defers, and books in `DeferredFrame::commit`", "", soundDeferred},
      {"defers some of its frames", "", soundMixed},
  };
}

std::vector<PlantedHandler> plantedHandlers() {
  const auto own = [](bool isRepeatable, bool swallows) {
    return [=](HandlerHost& host) { return ownConnection(host, isRepeatable, swallows); };
  };
  return {
      {"keeps state in memory over a rollback", "read it in the transaction", balanceInMemory},
      {"keeps state in memory over a rollback of a deferred frame's commit", "read it in the commit", commitFromMemory},
      {"does not fill its cache at a start", "fill it in the factory, or do without", cacheNotFilled},
      {"counts frames in memory, as if each came once", "count in the transaction", countsInMemory},
      {"writes the effect into a file of its own", "write through `transaction.database()`", effectInOwnFile},
      {"writes by a connection of its own, with autocommit", "write in `DeferredFrame::commit`", own(false, false)},
      {"takes no notice of SQLITE_BUSY, and acknowledges", "let it through: the frame comes again", own(true, true)},
      {"expects an order between sessions", "use one session for what has an order", orderAcrossSessions},
      {"orders by the sender's clock", "rely on the order of the session", orderByClock},
      {"removes duplicates by session and number, without the sender", "nothing: ackbox does it", dedupeBySession},
      {"replies first, and writes the effect with the next frame", "write before the ACK", replyBeforeEffect},
      {"enqueues the reply outside the transaction", "`transaction.enqueue`", replyOutside},
      {"enqueues the reply outside the transaction, before the effect, under a fixed id", "`transaction.enqueue`",
       replyFirstOutside},
      {"does not look at the reply's receipt", "answer `notNow` when it was refused", refusalIgnored},
      {"acknowledges a frame that it has not written", "look at how many rows changed", ackWithoutEffect},
      {"writes, and then defers", "write in the commit: a deferral undoes all", writesThenDefers},
  };
}

}  // namespace ackbox::test
