// What the file keeps of others: `senders`, `forget`.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

constexpr std::size_t kSendersMax = 10'000;

json::Line senderLine(const InboundSenderStats& sender) {
  json::Line line;
  line.add("source", sender.source)
      .add("sessions", sender.sessions)
      .add("origins", sender.origins)
      .add("marks", sender.marks)
      .add("bytes", sender.bytes)
      .add("inbox", sender.inbox)
      .add("inbox_bytes", sender.inboxBytes);
  return line;
}

Table senderTable(const std::vector<InboundSenderStats>& senders) {
  Table table({{"SENDER", Align::left},
               {"SESSIONS", Align::right},
               {"STORES", Align::right},
               {"UNORDERED", Align::right},
               {"KEPT", Align::right},
               {"WAITING", Align::right},
               {"DATA", Align::right}});
  for (const InboundSenderStats& sender : senders) {
    table.add({sender.source, std::to_string(sender.sessions), std::to_string(sender.origins),
               std::to_string(sender.marks), records::bytesText(sender.bytes), std::to_string(sender.inbox),
               records::bytesText(sender.inboxBytes)});
  }
  return table;
}

json::Line originLine(const std::string& source, const InboundOriginStats& origin) {
  json::Line line;
  line.add("source", source)
      .add("origin", origin.origin)
      .add("epoch", origin.epoch)
      .add("sessions", origin.sessions)
      .add("closed", origin.isClosed)
      .add("began_at_ms", std::optional(origin.beganAt))
      .add("seen_at_ms", std::optional(origin.seenAt));
  return line;
}

Table originTable(const std::vector<InboundOriginStats>& origins, WallTime now) {
  Table table({{"ORIGIN", Align::left},
               {"SESSIONS", Align::right},
               {"EPOCH", Align::right},
               {"STATE", Align::left},
               {"BEGAN", Align::left},
               {"SEEN", Align::left}});
  for (const InboundOriginStats& origin : origins) {
    table.add({origin.origin, std::to_string(origin.sessions), std::to_string(origin.epoch),
               origin.isClosed ? "closed" : "open", records::agoText(now, origin.beganAt),
               records::agoText(now, origin.seenAt)});
  }
  return table;
}

std::size_t limitOf(const Arguments& arguments) {
  return arguments.limit == 0 || arguments.limit > kSendersMax ? kSendersMax
                                                               : static_cast<std::size_t>(arguments.limit);
}

int origins(Console& console, const Arguments& arguments, const OutboxReader& reader) {
  const std::vector<InboundOriginStats> found = reader.inboundOrigins(arguments.source, limitOf(arguments));
  if (console.json()) {
    for (const InboundOriginStats& origin : found) {
      console.line(originLine(arguments.source, origin));
    }
  } else if (found.empty()) {
    console.remark("no store of this sender is known");
  } else {
    console.table(originTable(found, console.now()));
  }
  return found.empty() ? kNothing : kDone;
}

std::optional<std::string_view> originOf(const Arguments& arguments) {
  return arguments.origin.empty() ? std::nullopt : std::optional<std::string_view>(arguments.origin);
}

}  // namespace

int senders(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  if (!arguments.source.empty()) {
    return origins(console, arguments, reader);
  }
  const std::vector<InboundSenderStats> found = reader.inboundSenders(limitOf(arguments));
  if (console.json()) {
    for (const InboundSenderStats& sender : found) {
      console.line(senderLine(sender));
    }
  } else if (!found.empty()) {
    console.table(senderTable(found));
  }
  return found.empty() ? kNothing : kDone;
}

int forget(Console& console, const Arguments& arguments) {
  if (!arguments.yes) {
    return console.fail(kNothing,
                        "what this sender sends again would take effect again: what missed its answer, and, if the "
                        "sender has PeerResetPolicy::resend, every message that it has kept; say --yes to forget it");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  const ForgetReport report = outbox.forgetSender(arguments.source, originOf(arguments));
  if (console.json()) {
    console.line(json::Line()
                     .add("sessions", report.sessions)
                     .add("origins", report.origins)
                     .add("marks", report.marks)
                     .add("kept", report.kept));
  } else {
    console.say(records::countText(report.sessions, "session") + ", " + records::countText(report.origins, "store") +
                " and " + records::countText(report.marks, "unordered frame") + " forgotten");
    if (report.kept != 0) {
      console.remark(records::countText(report.kept, "session") + " stay: frames of them wait for their handler");
    }
  }
  return report.sessions + report.origins + report.marks == 0 ? kNothing : kDone;
}

}  // namespace ackbox::cli
