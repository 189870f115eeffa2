#include "cli/message_view.hpp"

#include "records/message.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

std::string whyText(const MessageInfo& message) {
  if (message.reason.empty() || message.lastError.empty()) {
    return records::shortened(message.reason + message.lastError, records::kWhyWidth);
  }
  return records::shortened(message.reason + ": " + message.lastError, records::kWhyWidth);
}

}  // namespace

MessageFilter messageFilterOf(const Arguments& arguments) {
  MessageFilter filter;
  filter.peer = arguments.peer;
  filter.session = arguments.session;
  filter.type = arguments.typeWanted;
  if (arguments.state) {
    filter.state = records::messageStateOf(*arguments.state);
  }
  return filter;
}

Table messageTable(const std::vector<MessageInfo>& messages, WallTime now) {
  Table table({{"ID", Align::left},
               {"STATE", Align::left},
               {"PEER", Align::left},
               {"SESSION", Align::left},
               {"SEQ", Align::right},
               {"TYPE", Align::left},
               {"ENQUEUED", Align::left},
               {"DUE", Align::left},
               {"RETRIES", Align::right},
               {"WHY", Align::left}});
  for (const MessageInfo& message : messages) {
    const bool isWaiting = message.state == MessageState::pending || message.state == MessageState::sent;
    table.add({message.messageId, records::nameOf(message.state), message.peer, message.session,
               message.sequence == 0 ? "-" : std::to_string(message.sequence), message.type,
               records::agoText(now, message.enqueuedAt),
               isWaiting && message.dueAt > now ? records::agoText(now, message.dueAt) : "-",
               std::to_string(message.retryCount), whyText(message)});
  }
  return table;
}

Table attemptTable(const std::vector<AttemptInfo>& attempts, WallTime now) {
  Table table({{"LAST ATTEMPT", Align::left},
               {"FIRST", Align::left},
               {"TIMES", Align::right},
               {"TOOK", Align::right},
               {"HTTP", Align::right},
               {"OUTCOME", Align::left},
               {"ERROR", Align::left}});
  for (const AttemptInfo& attempt : attempts) {
    table.add({records::instantText(attempt.lastAt), attempt.count == 1 ? "-" : records::agoText(now, attempt.firstAt),
               std::to_string(attempt.count), attempt.took ? std::to_string(attempt.took->count()) + " ms" : "-",
               attempt.status == 0 ? "-" : std::to_string(attempt.status), attempt.outcome, attempt.error});
  }
  return table;
}

}  // namespace ackbox::cli
