// The records about other agents in the file: `senders`, `forget`.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "records/sender.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

constexpr std::size_t kSendersMax = 10'000;

std::size_t limitOf(const Arguments& arguments) {
  return arguments.limit == 0 || arguments.limit > kSendersMax ? kSendersMax
                                                               : static_cast<std::size_t>(arguments.limit);
}

int origins(Console& console, const Arguments& arguments, const OutboxReader& reader) {
  const std::vector<InboundOriginStats> found = reader.inboundOrigins(arguments.source, limitOf(arguments));
  if (console.json()) {
    for (const InboundOriginStats& origin : found) {
      json::Line line;
      records::addFields(line.add("source", arguments.source), origin);
      console.line(line);
    }
  } else if (found.empty()) {
    console.remark("no store of this sender is known");
  } else {
    console.table(tableOf(found, console.now()));
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
  print(console, found);
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
