// `restore` of a database: its rows are put back by the server's own tools, and here the outbox becomes a new store.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "json/line.hpp"
#include "location/location.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

/// What is wanted and cannot be done, with what to do instead; empty if it can.
std::string obstacle(const Arguments& arguments) {
  const std::string file = location::shown(arguments.file);
  const std::string to = location::shown(arguments.to);
  if (!location::isUrl(arguments.file)) {
    return to + ": is a database, and the backup is a file: ackbox restore " + file +
           " NEW.db, and then ackbox move NEW.db URL to a database without an outbox";
  }
  if (arguments.file.native() != arguments.to.native()) {
    return file +
           ": is a database, which the server's own tools restore; after that, ackbox restore URL URL --identity new, "
           "the same URL twice, makes its outbox a new store";
  }
  if (arguments.identity != "new") {
    return file +
           ": is a database: say --identity new, if it has lost what was enqueued or sent, to make its outbox another "
           "store; otherwise there is nothing to do, and a peer that knows more than it is held";
  }
  return {};
}

void print(Console& console, const Arguments& arguments, const NewStoreReport& report) {
  const std::string step = "make it a new store: " + records::countText(report.pending, "message") + " pending, " +
                           records::countText(report.failed, "dead letter") + "; " +
                           records::countText(report.sentLeftOut, "message") + " that peers had deferred and " +
                           std::to_string(report.ackedLeftOut) + " retained left out";
  const std::vector<std::string> advice = {
      "its receivers see a new store, and nothing has to be done there; ackbox forget FILE SOURCE ORIGIN deletes what "
      "they keep of the old one",
      "start the agents"};
  if (console.json()) {
    console.line(json::Line()
                     .add("done", !arguments.dryRun)
                     .add("file", location::shown(arguments.file))
                     .add("identity", "new")
                     .add("origin", report.origin)
                     .raw("steps", json::list({step}))
                     .raw("next", json::list(advice)));
    return;
  }
  console.say(arguments.dryRun ? "would:" : "done:");
  console.say("  " + step);
  console.say("next:");
  for (const std::string& sentence : advice) {
    console.say("  " + sentence);
  }
}

}  // namespace

int restoreDatabase(Console& console, const Arguments& arguments) {
  if (const std::string problem = obstacle(arguments); !problem.empty()) {
    return console.fail(kNothing, problem);
  }
  NewStoreReport report;
  if (arguments.dryRun) {
    const OutboxReader reader = openToRead(console.world(), arguments);
    const Stats stats = reader.getStats();
    report.origin = report.originBefore = reader.fileInfo().origin;
    report.pending = stats.pending + stats.sending;
    report.failed = stats.failed;
    report.sentLeftOut = stats.sent;
    report.ackedLeftOut = stats.ackedRetained;
  } else {
    report = makeNewStore(console.world(), arguments, arguments.file);
  }
  print(console, arguments, report);
  return kDone;
}

}  // namespace ackbox::cli
