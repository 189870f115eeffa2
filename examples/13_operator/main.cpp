// An operator's day, in C++: which messages were given up and why, which to try again, which to throw away. The same
// with the tool is operator.sh.
//
//   operators_day                        all of it, on agent.db
//   operators_day FILE fail | deliver    for operator.sh: makes dead letters in FILE; delivers what is pending there

#include <ackbox/diagnosis.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_operator.hpp>
#include <ackbox/outbox_reader.hpp>
#include <iostream>
#include <string>

namespace {

using namespace ackbox;

OutboxManager openAgent(const std::string& file) {
  OutboxOptions options{.peers = {{.name = "printer"}}};
  options.retry.maxRetries = 0;  // So that the first failure is final.
  return OutboxManager::open(file, options);
}

/// A night in which the printer is out of paper, and refuses two messages whatever happens.
void fail(OutboxManager& agent) {
  agent.setSendFunction([](const std::string&, const OutboundFrame& frame) {
    return frame.type == "page" ? SendFunctionResult{.error = "out of paper"}
                                : SendFunctionResult{.error = "not a page", .isRetryable = false};
  });
  for (const char* id : {"page-1", "cake-1", "page-2", "cake-2"}) {
    const std::string name = id;
    agent.enqueue({.peer = "printer", .session = name, .type = name.substr(0, 4), .data = "{}", .id = name});
  }
  agent.processAll();
}

void deliver(OutboxManager& agent) {
  agent.setSendFunction([](const std::string&, const OutboundFrame& frame) {
    std::cout << "printed " << frame.messageId << std::endl;
    return SendFunctionResult{.success = true};
  });
  agent.processAll();
}

}  // namespace

int main(int argumentCount, char** argumentValues) {
  if (argumentCount > 2) {
    auto agent = openAgent(argumentValues[1]);
    std::string(argumentValues[2]) == "fail" ? fail(agent) : deliver(agent);
    return 0;
  }
  auto agent = openAgent("agent.db");
  fail(agent);

  const OutboxReader reader(agent);
  OutboxOperator hand(agent);
  std::cout << reader.getStats().failed << " dead letters" << std::endl;
  for (const MessageInfo& message : reader.deadLetters({}).messages) {
    std::cout << message.messageId << ": " << message.reason << ", " << message.lastError << std::endl;
  }
  // `sentence` says it for people.
  const Reason why = reader.explain("page-1").value().reasons.front();
  std::cout << "page-1: " << toString(why.blockReason) << ", " << why.detail << std::endl;

  // The printer has paper again. A retried message goes to the tail of its session under a new number; an UPDATE by SQL
  // would keep the old number, which the peer takes for a repetition.
  const ChangeReceipt one = hand.retry("page-1");
  const std::uint64_t others = hand.retryFailed({.reason = "retry-budget"});
  const std::uint64_t discarded = hand.discardFailed({.error = "not a page"});
  const ChangeReceipt twice = hand.retry("page-1");
  std::cout << (one.done() ? 1U : 0U) + others << " retried, " << discarded
            << " discarded, once more: " << twice.refusal.message() << std::endl;
  deliver(agent);
  const Stats stats = reader.getStats();
  std::cout << stats.acked << " printed, " << stats.failed << " dead letters, "
            << (reader.verify().clean() ? "every invariant holds" : "there are findings") << std::endl;
  return stats.acked == 2 && stats.failed == 0 ? 0 : 1;
}
