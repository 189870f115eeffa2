// Single messages: `list`, `show`, `explain`.

#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "records/message.hpp"

namespace ackbox::cli {
namespace {

int unknown(Console& console, const OutboxReader& reader, const std::string& id) {
  if (const std::vector<std::string> sources = reader.inboxSources(id); !sources.empty()) {
    return console.fail(kNothing, "no message has the id " + id + ", but a deferred frame of " + sources.front() +
                                      " has it: look with inbox-show and inbox-explain");
  }
  return console.fail(kNothing, "no message has the id " + id + "; it may be acknowledged and gone");
}

void sayAttempts(Console& console, const MessageInfo& message) {
  if (!message.attempts.empty()) {
    console.say("");
    console.table(tableOf(message.attempts, console.now(), fullText));
  }
}

}  // namespace

int list(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const MessageFilter filter = messageFilterOf(console.world(), arguments);
  const DeadLetterFilter deadLetters = deadLetterFilterOf(arguments);
  const bool isByCause = deadLetters.reason || deadLetters.error;
  if (isByCause && (filter.since || filter.before || filter.isNewestFirst)) {
    return console.fail(kUsage, "--since, --before and --newest do not go with --reason and --error");
  }
  if (isByCause && filter.state.value_or(MessageState::failed) != MessageState::failed) {
    return console.fail(kUsage, "only dead letters have a reason: --reason and --error go with --state failed");
  }
  const std::string_view nothing = isByCause ? "no dead letter matches" : "no message matches";
  const bool isAny = printPages(console, arguments, nothing, [&](std::size_t limit, std::int64_t after) {
    if (isByCause) {
      DeadLetterPage page = reader.deadLetters(deadLetters, limit, after);
      return std::pair(std::move(page.messages), page.next);
    }
    MessagePage page = reader.messages(filter, limit, after);
    return std::pair(std::move(page.messages), page.next);
  });
  if (!isAny && !console.json()) {
    remarkUnknownNames(console, reader, arguments);
  }
  return isAny ? kDone : kNothing;
}

int show(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::string& id = arguments.ids.front();
  const std::optional<MessageInfo> message = reader.find(id);
  const std::optional<Frame> frame = reader.frame(id);
  if (!message || !frame) {
    return unknown(console, reader, id);
  }
  if (console.json()) {
    json::Line line = records::lineOf(*message);
    line.raw("attempts", records::listOf(message->attempts));
    records::addFrame(line, *frame);
    console.line(line);
    return kDone;
  }
  Table table = factTable();
  addFacts(table, *message, console.now());
  addFacts(table, *frame, console.now());
  addFact(table, "data", frame->data.empty() ? "null" : frame->data);
  console.table(table);
  sayAttempts(console, *message);
  return kDone;
}

int explain(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::string& id = arguments.ids.front();
  const std::optional<Explanation> explanation = reader.explain(id);
  if (!explanation) {
    return unknown(console, reader, id);
  }
  if (!console.json()) {
    console.say(explanation->sentence);
    sayAttempts(console, explanation->message);
    return kDone;
  }
  json::Line line = records::lineOf(explanation->message);
  line.raw("attempts", records::listOf(explanation->message.attempts));
  line.raw("reasons", records::listOf(explanation->reasons)).add("sentence", explanation->sentence);
  console.line(line);
  return kDone;
}

}  // namespace ackbox::cli
