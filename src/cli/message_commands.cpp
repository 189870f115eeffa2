// Messages one by one: `list`, `show`, `explain`.

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/message_view.hpp"
#include "cli/open.hpp"
#include "records/message.hpp"
#include "records/text.hpp"

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
    console.table(attemptTable(message.attempts, console.now()));
  }
}

}  // namespace

int list(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const MessageFilter filter = messageFilterOf(arguments);
  std::int64_t after = arguments.after;
  std::uint64_t shown = 0;
  do {
    const std::uint64_t left = arguments.limit == 0 ? kPage : arguments.limit - shown;
    const MessagePage page = reader.messages(filter, std::min<std::uint64_t>(left, kPage), after);
    after = page.next;
    shown += page.messages.size();
    if (!console.json()) {
      if (!page.messages.empty()) {
        console.table(messageTable(page.messages, console.now()));
      }
      continue;
    }
    for (const MessageInfo& message : page.messages) {
      console.line(records::lineOf(message));
    }
  } while (after != 0 && (arguments.limit == 0 || shown < arguments.limit));
  if (after != 0) {
    console.remark("more: --after " + std::to_string(after));
  } else if (shown == 0 && !console.json()) {
    console.remark("no message matches");
    remarkUnknownNames(console, reader, arguments);
  }
  return shown == 0 ? kNothing : kDone;
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
  Table table({{"", Align::left}, {"", Align::left}});
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      table.add({name, value});
    }
  };
  const auto instant = [&](const char* name, const std::optional<WallTime>& value) {
    if (value && *value != WallTime{}) {
      row(name, records::instantText(*value) + " (" + records::agoText(console.now(), *value) + ")");
    }
  };
  row("id", message->messageId);
  row("state", records::nameOf(message->state));
  row("peer", message->peer);
  row("session", message->session);
  row("sequence", message->sequence == 0 ? "none: unordered" : std::to_string(message->sequence));
  row("type", message->type);
  instant("enqueued", message->enqueuedAt);
  instant(message->state == MessageState::failed ? "failed" : "due", message->dueAt);
  instant("not before", frame->notBefore);
  instant("expires", frame->expiresAt);
  row("retries", std::to_string(message->retryCount));
  row("reason", message->reason);
  row("last error", message->lastError);
  row("traceparent", frame->traceparent);
  row("answers", frame->correlationId);
  row("data", frame->data.empty() ? "null" : frame->data);
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
