#include <SQLiteCpp/SQLiteCpp.h>

#include <set>
#include <string>
#include <vector>

#include "ackbox/message_page.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/wire.hpp"
#include "testing/handler_world.hpp"

// Reads the files of a handler's world at its end, and checks the invariant.

namespace ackbox::testing {

void HandlerWorld::readSenders() {
  for (const std::string& name : options_.senders) {
    const OutboxReader reader = OutboxReader::open(fileOf(name));
    std::int64_t after = 0;
    do {
      const MessagePage page = reader.messages({}, 1'000, after);
      for (const MessageInfo& message : page.messages) {
        if (const auto found = places_.find(message.messageId); found != places_.end()) {
          SentFrame& sent = ledger_.sent_[found->second];
          sent.sequence = message.sequence;
          sent.state = message.state;
          sent.reason = message.reason;
        }
      }
      after = page.next;
    } while (after != 0);
  }
}

// The event that acknowledges a deferred frame is enqueued in the commit that ends the frame.
std::vector<std::string> HandlerWorld::readDeferred() {
  OutboxOptions options;
  options.tablePrefix = options_.outbox.tablePrefix;
  const OutboxReader reader = OutboxReader::open(fileOf(options_.receiver), options);
  std::vector<std::string> ids;
  std::int64_t after = 0;
  do {
    const MessagePage page = reader.messages({}, 1'000, after);
    for (const MessageInfo& message : page.messages) {
      const auto event = message.type == protocol::kAckEventType ? reader.frame(message.messageId) : std::nullopt;
      for (const protocol::NamedResult& result :
           event ? protocol::readAckEvent(event->data).value_or(std::vector<protocol::NamedResult>())
                 : std::vector<protocol::NamedResult>()) {
        if (result.result.outcome == Outcome::ack) {
          ids.push_back(result.id);
        }
      }
    }
    after = page.next;
  } while (after != 0);
  return ids;
}

void HandlerWorld::readReplies(const std::string& process) {
  SQLite::Database database(fileOf(process).string(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(database, "SELECT id, session, type, data, correlation FROM replies ORDER BY at");
  while (rows.executeStep()) {
    ledger_.replies_.push_back(
        {process, rows.getColumn(0), rows.getColumn(1), rows.getColumn(2), rows.getColumn(3), rows.getColumn(4)});
  }
}

void HandlerWorld::judge() {
  for (const std::vector<std::string>* names : {&options_.senders, &options_.sinks}) {
    for (const std::string& name : *names) {
      readReplies(name);
    }
  }
  // Writable, because the log of a killed process is recovered; query_only keeps the invariant from writing.
  SQLite::Database database(fileOf(options_.receiver).string(), SQLite::OPEN_READWRITE);
  std::set<std::string> applied;
  SQLite::Statement rows(database, "SELECT frame FROM ackbox_testing_applied ORDER BY at");
  while (rows.executeStep()) {
    const std::string id = rows.getColumn(0);
    if (const auto found = places_.find(id); found != places_.end() && applied.insert(id).second) {
      ledger_.applied_.push_back(ledger_.sent_[found->second]);
    }
  }
  for (const std::string& id : readDeferred()) {
    if (const auto found = places_.find(id); found != places_.end() && applied.insert(id).second) {
      ledger_.applied_.push_back(ledger_.sent_[found->second]);
    }
  }
  database.exec("PRAGMA query_only = 1");
  try {
    result_.fault += invariant_(database, ledger_);
  } catch (const std::exception& error) {
    result_.fault += std::string("the invariant throws: ") + error.what() + "\n";
  }
}

}  // namespace ackbox::testing
