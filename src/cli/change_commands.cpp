// Changes by an operator: `retry`, `resend`, `discard`, `mark-failed`.

#include <functional>

#include "ackbox/dead_letters.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/message.hpp"
#include "records/resending.hpp"
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
  // The reason of `mark-failed` is that of the dead letters that it makes.
  const bool isByReason = arguments.reason && arguments.command != "mark-failed";
  return arguments.all || arguments.peer || arguments.session || arguments.typeWanted || arguments.state ||
         isByReason || arguments.error || arguments.olderThan.count() > 0 || arguments.since || arguments.before;
}

/// Whether there are either ids or a filter; a dry run needs a filter.
bool isClear(const Arguments& arguments) {
  return arguments.ids.empty() == hasFilter(arguments) && (arguments.ids.empty() || !arguments.dryRun);
}

/// The messages that a command can choose by a filter.
struct Subject {
  const char* name;
  /// The options that choose them.
  const char* filter;
  /// Why there may be none; empty: it need not be said.
  const char* absence;
};
constexpr Subject kDeadLetters{
    "dead letter", "dead letters with --peer, --session, --type, --reason, --error, --older-than or --all", ""};
constexpr Subject kMessages{"message", "", ""};
constexpr Subject kAcknowledged{
    "acknowledged message", "acknowledged ones with --peer, --session, --type, --since, --before or --all",
    "acknowledged messages are deleted at once, unless the agent keeps them (acked_retention)"};

constexpr Subject kThatWait{"pending or sent message",
                            "those with --peer, --session, --type, --state, --since, --before or --all", ""};

int usage(Console& console, const Arguments& arguments, const Subject& subject) {
  if (!arguments.ids.empty() && !hasFilter(arguments)) {
    return console.fail(kUsage, "--dry-run is for a filter, not for ids");
  }
  return console.fail(kUsage, arguments.ids.empty()
                                  ? std::string("name messages by their ids, or choose ") + subject.filter
                                  : "either ids or a filter, not both");
}

/// Prints the outcome for the messages that a filter chose.
void sayCount(Console& console, const Subject& subject, std::uint64_t count, std::string_view jsonName,
              const std::string& outcome) {
  if (console.json()) {
    console.line(json::Line().add(jsonName, count));
  } else {
    console.say(records::countText(count, subject.name) + " " + outcome);
  }
}

/// The same, and if there were none, also what may be the reason.
int report(Console& console, const Arguments& arguments, const Subject& subject, std::uint64_t count,
           std::string_view jsonName, const std::string& outcome) {
  if (count == 0 && !console.json()) {
    remarkUnknownNames(console, openToRead(console.world(), arguments), arguments);
    if (*subject.absence != '\0') {
      console.remark(subject.absence);
    }
  }
  sayCount(console, subject, count, jsonName, outcome);
  return count == 0 ? kNothing : kDone;
}

/// Ends a command of which the outbox refused a message behind `stored` others.
int failRefused(Console& console, std::uint64_t stored, EnqueueStatus status, const std::string& refusal) {
  return console.fail(stored == 0 ? kNothing : kPartly, records::refusedResend(status, refusal, "command"));
}

int reportDone(Console& console, const Arguments& arguments, const Subject& subject, const std::string& done,
               std::uint64_t changed) {
  return report(console, arguments, subject, changed, "changed", done);
}

MessagePage pageOf(const OutboxReader& reader, const MessageFilter& filter, std::int64_t after) {
  return reader.messages(filter, kPage, after);
}

DeadLetterPage pageOf(const OutboxReader& reader, const DeadLetterFilter& filter, std::int64_t after) {
  return reader.deadLetters(filter, kPage, after);
}

template <typename Filter>
std::uint64_t countOf(const OutboxReader& reader, const Filter& filter) {
  std::uint64_t count = 0;
  std::int64_t after = 0;
  do {
    const auto page = pageOf(reader, filter, after);
    count += page.messages.size();
    after = page.next;
  } while (after != 0);
  return count;
}

std::uint64_t countThatWait(const OutboxReader& reader, MessageFilter filter) {
  const std::optional<MessageState> wanted = filter.state;
  std::uint64_t count = 0;
  for (const MessageState state : {MessageState::pending, MessageState::sent}) {
    filter.state = state;
    count += wanted.value_or(state) == state ? countOf(reader, filter) : 0;
  }
  return count;
}

template <typename Filter>
int dryRun(Console& console, const Arguments& arguments, const Subject& subject, const Filter& filter,
           const std::string& done) {
  const std::uint64_t count = countOf(openToRead(console.world(), arguments), filter);
  return report(console, arguments, subject, count, "would_change", "would be " + done + "; nothing was changed");
}

/// Prints how many the filter chooses, and, for people, what the choice of ids means to the receiver.
int preview(Console& console, const Arguments& arguments, const Subject& subject, std::uint64_t count,
            const std::string& done, std::string_view meaning) {
  const int code =
      report(console, arguments, subject, count, "would_change", "would be " + done + "; nothing was changed");
  if (count != 0 && !console.json()) {
    console.remark(std::string(meaning));
  }
  return code;
}

int reportStored(Console& console, const Arguments& arguments, const Subject& subject, const std::string& done,
                 const std::string& before, const ResendReport& outcome) {
  int code = kNothing;
  if (outcome.refusal.empty()) {
    code = reportDone(console, arguments, subject, done, outcome.stored);
  } else {
    sayCount(console, subject, outcome.stored, "changed", done);
  }
  if (outcome.repeated != 0 && !console.json()) {
    console.remark(records::countText(outcome.repeated, "message") + " " + before);
  }
  return outcome.refusal.empty() ? code : failRefused(console, outcome.stored, outcome.refusedAs, outcome.refusal);
}

int resendTo(Console& console, const Arguments& arguments, const MessageFilter& filter) {
  if (!arguments.peer || arguments.peer == arguments.receiver) {
    return console.fail(kUsage, "--to needs --peer, the other peer that had the messages");
  }
  if (!arguments.ids.empty()) {
    return console.fail(kUsage, "--to is for a filter, not for ids");
  }
  if (arguments.dryRun || !arguments.yes) {
    const std::uint64_t count = countOf(openToRead(console.world(), arguments), filter);
    if (!arguments.dryRun) {
      return console.fail(kNothing, "this would store " + records::countText(count, "message") + " for " +
                                        *arguments.receiver + "; say --yes to do it");
    }
    return preview(console, arguments, kMessages, count, "stored for " + *arguments.receiver,
                   records::kResentToAnother);
  }
  ResendReport done;
  try {
    done = openToChange(console.world(), arguments).resendTo(*arguments.receiver, filter);
  } catch (const Error& error) {
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
    return console.fail(kNothing, "the outbox has no peer by the name of " + *arguments.receiver);
  }
  return reportStored(console, arguments, kMessages, "stored for " + *arguments.receiver, "it had been given before",
                      done);
}

/// Each message as a new one, up to the first that the outbox refuses.
int resendEach(Console& console, const Arguments& arguments) {
  OutboxOperator outbox = openToChange(console.world(), arguments);
  std::uint64_t stored = 0;
  for (const std::string& id : arguments.ids) {
    const ResendReceipt receipt = outbox.resendAsNew(id);
    if (!receipt.refusal && !receipt.copy.accepted()) {
      return failRefused(console, stored, receipt.copy.status, id + ": " + receipt.copy.detail);
    }
    stored += receipt.done() ? 1U : 0U;
    const std::string refusal =
        receipt.refusal ? refusalText({.refusal = receipt.refusal, .state = receipt.state}, arguments)
                        : "it was sent again before, as " + receipt.copy.messageId + ": send that one again";
    if (console.json()) {
      json::Line line;
      line.add("message_id", id).add("done", receipt.done());
      if (receipt.done()) {
        line.add("new_id", receipt.copy.messageId).add("sequence", receipt.copy.sequence);
      } else {
        line.add("refusal", refusal);
      }
      console.line(line);
    } else if (receipt.done()) {
      std::string text = id;
      text.append(": pending again as ").append(receipt.copy.messageId);
      if (receipt.copy.sequence != 0) {
        text.append(", sequence ").append(std::to_string(receipt.copy.sequence));
      }
      console.say(text);
    } else {
      console.remark(std::string(id).append(": ").append(refusal));
    }
  }
  return stored == arguments.ids.size() ? kDone : kNothing;
}

}  // namespace

int retry(Console& console, const Arguments& arguments) {
  if (!isClear(arguments)) {
    return usage(console, arguments, kDeadLetters);
  }
  if (arguments.dryRun) {
    return dryRun(console, arguments, kDeadLetters, deadLetterFilterOf(arguments), "pending again");
  }
  if (!arguments.ids.empty()) {
    return changeEach(console, arguments, "pending again",
                      [](OutboxOperator& outbox, const std::string& id) { return outbox.retry(id); });
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return reportDone(console, arguments, kDeadLetters, "pending again",
                    outbox.retryFailed(deadLetterFilterOf(arguments)));
}

int resend(Console& console, const Arguments& arguments) {
  if (arguments.receiver) {
    return resendTo(console, arguments, messageFilterOf(console.world(), arguments));
  }
  if (!isClear(arguments)) {
    return usage(console, arguments, kAcknowledged);
  }
  MessageFilter filter = messageFilterOf(console.world(), arguments);
  filter.state = MessageState::acked;
  if (!arguments.ids.empty()) {
    return arguments.newIds
               ? resendEach(console, arguments)
               : changeEach(console, arguments, "pending again",
                            [](OutboxOperator& outbox, const std::string& id) { return outbox.resend(id); });
  }
  const std::string done = arguments.newIds ? "pending again under new ids" : "pending again";
  if (arguments.dryRun || !arguments.yes) {
    const std::string_view meaning = arguments.newIds ? records::kResentAsNew : records::kResentUnderItsId;
    const std::uint64_t count = countOf(openToRead(console.world(), arguments), filter);
    if (arguments.dryRun) {
      return preview(console, arguments, kAcknowledged, count, done, meaning);
    }
    return console.fail(kNothing, "this would send " + records::countText(count, kAcknowledged.name) + " once more; " +
                                      std::string(meaning) + ". Say --yes to do it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  if (arguments.newIds) {
    return reportStored(console, arguments, kAcknowledged, done, "had been sent again before",
                        outbox.resendAsNew(filter));
  }
  return reportDone(console, arguments, kAcknowledged, "pending again", outbox.resend(filter));
}

int discard(Console& console, const Arguments& arguments) {
  if (!isClear(arguments)) {
    return usage(console, arguments, kDeadLetters);
  }
  if (arguments.dryRun) {
    return dryRun(console, arguments, kDeadLetters, deadLetterFilterOf(arguments), "discarded");
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
  return reportDone(console, arguments, kDeadLetters, "discarded", outbox.discardFailed(filter));
}

int markFailed(Console& console, const Arguments& arguments) {
  const std::string reason = arguments.reason.value_or("marked-failed");
  if (!isClear(arguments)) {
    return usage(console, arguments, kThatWait);
  }
  if (!arguments.ids.empty()) {
    return changeEach(console, arguments, "a dead letter", [&reason](OutboxOperator& outbox, const std::string& id) {
      return outbox.markFailed(id, reason);
    });
  }
  const MessageFilter filter = messageFilterOf(console.world(), arguments);
  if (arguments.dryRun || !arguments.yes) {
    const std::uint64_t count = countThatWait(openToRead(console.world(), arguments), filter);
    if (arguments.dryRun) {
      return report(console, arguments, kThatWait, count, "would_change",
                    "would become dead letters; nothing was changed");
    }
    return console.fail(kNothing, "this would make dead letters of " + records::countText(count, kThatWait.name) +
                                      ", except those in flight; say --yes to do it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  return reportDone(console, arguments, kThatWait, "became dead letters", outbox.markFailed(filter, reason));
}

}  // namespace ackbox::cli
