// Deferred frames in the receiver's file: `inbox`, `inbox-show`, `inbox-explain`, `inbox-retry`, `inbox-discard`.

#include <functional>
#include <utility>

#include "ackbox/inbox.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "records/inbox_frame.hpp"
#include "records/message.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

constexpr const char* kNoDeferred =
    "; its handler took it on arrival, its outcome is no longer kept, or it never came: `ackbox explain` at its sender "
    "says whether it was acknowledged";

InboxFilter inboxFilterOf(const Arguments& arguments) {
  InboxFilter filter;
  filter.session = arguments.session;
  filter.mailbox = arguments.mailbox;
  if (!arguments.source.empty()) {
    filter.source = arguments.source;
  }
  if (arguments.state) {
    filter.state = records::inboxStateOf(*arguments.state);
  }
  return filter;
}

/// The sender named by `--source`, or the only sender of frames with this id; if absent, sets `why`.
std::optional<std::string> senderOf(const Arguments& arguments, const OutboxReader& reader, const std::string& id,
                                    std::string& why) {
  if (!arguments.source.empty()) {
    return arguments.source;
  }
  const std::vector<std::string> sources = reader.inboxSources(id);
  if (sources.size() == 1) {
    return sources.front();
  }
  std::string names;
  for (const std::string& source : sources) {
    names += (names.empty() ? "" : ", ") + source;
  }
  why = sources.empty() ? "no deferred frame has the id " + id + kNoDeferred
                        : "frames of several senders have the id " + id + ": choose one with --source: " + names;
  return std::nullopt;
}

int noFrame(Console& console, const std::string& id, const std::string& source) {
  return console.fail(kNothing, "no deferred frame of " + source + " has the id " + id + kNoDeferred);
}

std::string frameRefusalText(const InboxReceipt& receipt) {
  if (receipt.refusal == Errc::unknownMessage) {
    return "no deferred frame has this id";
  }
  return receipt.state == InboxState::running ? "its handler is running; wait for the outcome"
                                              : "it has ended, which does not allow it";
}

using FrameChange = std::function<InboxReceipt(OutboxOperator&, const std::string& source, const std::string& id)>;

int changeFrames(Console& console, const Arguments& arguments, const char* done, const FrameChange& change) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  OutboxOperator outbox = openToChange(console.world(), arguments);
  bool allDone = true;
  for (const std::string& id : arguments.ids) {
    std::string why;
    const std::optional<std::string> source = senderOf(arguments, reader, id, why);
    if (!source) {
      allDone = false;
      if (console.json()) {
        console.line(json::Line().add("message_id", id).add("done", false).add("refusal", why));
      } else {
        console.remark(std::string(id).append(": ").append(why));
      }
      continue;
    }
    const InboxReceipt receipt = change(outbox, *source, id);
    allDone = allDone && receipt.done();
    if (console.json()) {
      json::Line line;
      line.add("message_id", id).add("source", *source).add("done", receipt.done());
      if (receipt.done()) {
        line.add("sequence", receipt.sequence);
      } else {
        line.add("refusal", frameRefusalText(receipt));
      }
      console.line(line);
    } else if (receipt.done()) {
      console.say(id + ": " + done);
    } else {
      console.remark(id + ": " + frameRefusalText(receipt));
    }
  }
  return allDone ? kDone : kNothing;
}

/// Whether the arguments have ids, with at most one `--source`, or a filter.
bool isChoice(const Arguments& arguments) {
  if (!arguments.ids.empty()) {
    return !arguments.all && !arguments.session && !arguments.mailbox && !arguments.state;
  }
  return arguments.all || !arguments.source.empty() || arguments.session || arguments.mailbox || arguments.state;
}

int choiceUsage(Console& console, const Arguments& arguments) {
  return console.fail(
      kUsage, arguments.ids.empty()
                  ? "name frames by their ids, or choose them with --source, --session, --mailbox, --state or --all"
                  : "either ids, with --source if several senders use one, or a filter, not both");
}

int reportFrames(Console& console, const char* done, std::uint64_t changed) {
  if (console.json()) {
    console.line(json::Line().add("changed", changed));
  } else {
    console.say(records::countText(changed, "deferred frame") + " " + done);
  }
  return changed == 0 ? kNothing : kDone;
}

constexpr const char* kRunsAgain = "a process with a handler runs it again when its turn comes";
constexpr const char* kDiscarded = "discarded; its sender gets a dead letter";

}  // namespace

int inbox(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const InboxFilter filter = inboxFilterOf(arguments);
  const bool isAny =
      printPages(console, arguments, "no deferred frame matches", [&](std::size_t limit, std::int64_t after) {
        InboxPage page = reader.inbox(filter, limit, after);
        return std::pair(std::move(page.frames), page.next);
      });
  return isAny ? kDone : kNothing;
}

int inboxShow(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::string& id = arguments.ids.front();
  std::string why;
  const std::optional<std::string> source = senderOf(arguments, reader, id, why);
  if (!source) {
    return console.fail(kNothing, why);
  }
  const std::optional<InboxInfo> info = reader.findInbox(*source, id);
  if (!info) {
    return noFrame(console, id, *source);
  }
  // A frame that has ended has no content any more.
  const InboundFrame frame = reader.inboxFrame(*source, id).value_or(InboundFrame());
  if (console.json()) {
    json::Line line = records::lineOf(*info);
    records::addFrame(line, frame);
    console.line(line);
    return kDone;
  }
  Table table = factTable();
  addFacts(table, *info, console.now());
  addFacts(table, frame, console.now());
  if (!frame.data.empty()) {
    addFact(table, "data", frame.data);
  }
  console.table(table);
  return kDone;
}

int inboxExplain(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::string& id = arguments.ids.front();
  std::string why;
  const std::optional<std::string> source = senderOf(arguments, reader, id, why);
  if (!source) {
    return console.fail(kNothing, why);
  }
  const std::optional<InboxExplanation> explanation = reader.explainInbox(*source, id);
  if (!explanation) {
    return noFrame(console, id, *source);
  }
  if (!console.json()) {
    console.say(explanation->sentence);
    return kDone;
  }
  json::Line line = records::lineOf(explanation->frame);
  line.raw("reasons", records::listOf(explanation->reasons)).add("sentence", explanation->sentence);
  console.line(line);
  return kDone;
}

int inboxRetry(Console& console, const Arguments& arguments) {
  if (!isChoice(arguments)) {
    return choiceUsage(console, arguments);
  }
  if (!arguments.ids.empty()) {
    return changeFrames(console, arguments, kRunsAgain,
                        [](OutboxOperator& outbox, const std::string& source, const std::string& id) {
                          return outbox.retryInbox(source, id);
                        });
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return reportFrames(console, "to be run again", outbox.retryInbox(inboxFilterOf(arguments)));
}

int inboxDiscard(Console& console, const Arguments& arguments) {
  if (!isChoice(arguments)) {
    return choiceUsage(console, arguments);
  }
  const std::string reason = arguments.reason.value_or("discarded");
  if (!arguments.ids.empty()) {
    return changeFrames(console, arguments, kDiscarded,
                        [&reason](OutboxOperator& outbox, const std::string& source, const std::string& id) {
                          return outbox.discardInbox(source, id, reason);
                        });
  }
  const InboxFilter filter = inboxFilterOf(arguments);
  if (!arguments.yes) {
    const OutboxReader reader = openToRead(console.world(), arguments);
    std::uint64_t count = 0;
    std::int64_t after = 0;
    do {
      const InboxPage page = reader.inbox(filter, kPage, after);
      count += page.frames.size();
      after = page.next;
    } while (after != 0);
    return console.fail(kNothing, "this would discard " + records::countText(count, "deferred frame") +
                                      " for good, except those that run; say --yes to do it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return reportFrames(console, "discarded", outbox.discardInbox(filter, reason));
}

}  // namespace ackbox::cli
