// Changes by an operator: `retry`, `resend`, `discard`, `mark-failed`.

#include <functional>

#include "ackbox/dead_letters.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/message.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

using Change = std::function<ChangeReceipt(OutboxOperator&, const std::string&)>;

std::string refusalText(const ChangeReceipt& receipt, const Arguments& arguments) {
  if (arguments.command == "resend" && receipt.state == MessageState::acked &&
      receipt.refusal != Errc::unknownMessage) {
    return "it has expired";
  }
  return receipt.refusal == Errc::unknownMessage
             ? "no message has this id"
             : "it is " + records::nameOf(receipt.state) + ", which does not allow it";
}

/// Applies the change to each id; `done` is the verb of the report.
int changeEach(Console& console, const Arguments& arguments, const char* done, const Change& change) {
  OutboxOperator outbox = openToChange(console.world(), arguments);
  bool allDone = true;
  for (const std::string& id : arguments.ids) {
    const ChangeReceipt receipt = change(outbox, id);
    allDone = allDone && receipt.done();
    if (console.json()) {
      json::Line line;
      line.add("message_id", id).add("done", receipt.done());
      if (receipt.done()) {
        line.add("sequence", receipt.sequence);
      } else {
        line.add("refusal", refusalText(receipt, arguments));
      }
      console.line(line);
    } else if (receipt.done()) {
      console.say(id + ": " + done +
                  (receipt.sequence == 0 ? std::string() : ", sequence " + std::to_string(receipt.sequence)));
    } else {
      console.remark(id + ": " + refusalText(receipt, arguments));
    }
  }
  return allDone ? kDone : kNothing;
}

bool hasFilter(const Arguments& arguments) {
  return arguments.all || arguments.peer || arguments.session || arguments.typeWanted || arguments.reason ||
         arguments.error || arguments.olderThan.count() > 0 || arguments.since || arguments.before;
}

/// Whether there are either ids or a filter; a dry run needs a filter.
bool isClear(const Arguments& arguments) {
  return arguments.ids.empty() == hasFilter(arguments) && (arguments.ids.empty() || !arguments.dryRun);
}

int usage(Console& console, const Arguments& arguments,
          const std::string& filter =
              "dead letters with --peer, --session, --type, --reason, --error, --older-than or "
              "--all") {
  if (!arguments.ids.empty() && !hasFilter(arguments)) {
    return console.fail(kUsage, "--dry-run is for a filter, not for ids");
  }
  return console.fail(kUsage, arguments.ids.empty() ? "name messages by their ids, or choose " + filter
                                                    : "either ids or a filter, not both");
}

int report(Console& console, const Arguments& arguments, const char* done, std::uint64_t changed,
           const char* what = "dead letter") {
  if (changed == 0 && !console.json()) {
    remarkUnknownNames(console, openToRead(console.world(), arguments), arguments);
  }
  if (console.json()) {
    console.line(json::Line().add("changed", changed));
  } else {
    console.say(records::countText(changed, what) + " " + done);
  }
  return changed == 0 ? kNothing : kDone;
}

/// Why there may be nothing to send once more.
void remarkNoneKept(Console& console, std::uint64_t count) {
  if (count == 0 && !console.json()) {
    console.remark("acknowledged messages are deleted at once, unless the agent keeps them (acked_retention)");
  }
}

std::uint64_t countOf(const OutboxReader& reader, const MessageFilter& filter) {
  std::uint64_t count = 0;
  std::int64_t after = 0;
  do {
    const MessagePage page = reader.messages(filter, kPage, after);
    count += page.messages.size();
    after = page.next;
  } while (after != 0);
  return count;
}

std::uint64_t countOf(const OutboxReader& reader, const DeadLetterFilter& filter) {
  std::uint64_t count = 0;
  std::int64_t after = 0;
  do {
    const DeadLetterPage page = reader.deadLetters(filter, kPage, after);
    count += page.messages.size();
    after = page.next;
  } while (after != 0);
  return count;
}

template <typename Filter>
int dryRun(Console& console, const Arguments& arguments, const char* done, const Filter& filter,
           const char* what = "dead letter") {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::uint64_t count = countOf(reader, filter);
  if (count == 0 && !console.json()) {
    remarkUnknownNames(console, reader, arguments);
  }
  if (console.json()) {
    console.line(json::Line().add("would_change", count));
  } else {
    console.say(records::countText(count, what) + " would be " + done + "; nothing was changed");
  }
  return count == 0 ? kNothing : kDone;
}

}  // namespace

int retry(Console& console, const Arguments& arguments) {
  if (!isClear(arguments)) {
    return usage(console, arguments);
  }
  if (arguments.dryRun) {
    return dryRun(console, arguments, "pending again", deadLetterFilterOf(arguments));
  }
  if (!arguments.ids.empty()) {
    return changeEach(console, arguments, "pending again",
                      [](OutboxOperator& outbox, const std::string& id) { return outbox.retry(id); });
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return report(console, arguments, "pending again", outbox.retryFailed(deadLetterFilterOf(arguments)));
}

int resend(Console& console, const Arguments& arguments) {
  constexpr const char* kMessage = "acknowledged message";
  if (!isClear(arguments)) {
    return usage(console, arguments, "acknowledged ones with --peer, --session, --type, --since, --before or --all");
  }
  MessageFilter filter = messageFilterOf(console.world(), arguments);
  filter.state = MessageState::acked;
  if (!arguments.ids.empty()) {
    return changeEach(console, arguments, "pending again",
                      [](OutboxOperator& outbox, const std::string& id) { return outbox.resend(id); });
  }
  const std::uint64_t count = countOf(openToRead(console.world(), arguments), filter);
  remarkNoneKept(console, count);
  if (arguments.dryRun) {
    return dryRun(console, arguments, "pending again", filter, kMessage);
  }
  if (!arguments.yes) {
    return console.fail(kNothing, "this would send " + records::countText(count, kMessage) +
                                      " once more, and they would take effect again; say --yes to do it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return report(console, arguments, "pending again", outbox.resend(filter), kMessage);
}

int discard(Console& console, const Arguments& arguments) {
  if (!isClear(arguments)) {
    return usage(console, arguments);
  }
  if (arguments.dryRun) {
    return dryRun(console, arguments, "discarded", deadLetterFilterOf(arguments));
  }
  if (!arguments.ids.empty()) {
    return changeEach(console, arguments, "discarded",
                      [](OutboxOperator& outbox, const std::string& id) { return outbox.discard(id); });
  }
  const DeadLetterFilter filter = deadLetterFilterOf(arguments);
  if (!arguments.yes) {
    const std::uint64_t count = countOf(openToRead(console.world(), arguments), filter);
    return console.fail(
        kNothing, "this would discard " + records::countText(count, "dead letter") + " for good; say --yes to do it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return report(console, arguments, "discarded", outbox.discardFailed(filter));
}

int markFailed(Console& console, const Arguments& arguments) {
  const std::string reason = arguments.reason.value_or("marked-failed");
  return changeEach(console, arguments, "failed",
                    [&reason](OutboxOperator& outbox, const std::string& id) { return outbox.markFailed(id, reason); });
}

}  // namespace ackbox::cli
