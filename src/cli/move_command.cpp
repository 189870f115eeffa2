#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_users.hpp"
#include "cli/open.hpp"
#include "cli/progress_line.hpp"
#include "location/location.hpp"
#include "records/text.hpp"

namespace ackbox::cli {

int move(Console& console, const Arguments& arguments) {
  const std::string to = location::shown(arguments.to);
  if (!location::isUrl(arguments.to)) {
    return console.fail(kUsage, to + ": is no database: postgres://user@host/database");
  }
  const FileUsers users = usersOf(arguments.file, sidecarOf(arguments.file, arguments.prefix));
  if (users.any()) {
    return console.fail(kNothing, arguments.file.string() + ": is open in " + users.text() + "; end it first");
  }
  MoveReport report;
  {
    ProgressLine progress(console);
    report = moveOutbox(console.world(), arguments, [&progress](std::string_view table, std::uint64_t rows) {
      progress.show(std::string(table) + ": " + records::countText(rows, "row") + " copied");
    });
  }
  const Stats stats = openToRead(console.world(), arguments, arguments.to).getStats();
  if (console.json()) {
    console.line(json::Line()
                     .add("to", to)
                     .add("origin", report.origin)
                     .add("rows", report.rows)
                     .add("pending", stats.pending + stats.sending)
                     .add("sent", stats.sent)
                     .add("failed", stats.failed)
                     .add("acked_retained", stats.ackedRetained)
                     .add("inbox", stats.inbox));
  } else {
    console.say(
        to +
        (report.rows == 0 ? " has the outbox already: " : ": " + records::countText(report.rows, "row") + " copied; ") +
        std::to_string(stats.pending + stats.sending) + " pending, " + std::to_string(stats.sent) + " sent, " +
        records::countText(stats.failed, "dead letter") + ", " + records::countText(stats.inbox, "deferred frame"));
    console.say(arguments.file.string() +
                " is kept, and no agent opens it again; start the agents with the database in its place");
  }
  return kDone;
}

}  // namespace ackbox::cli
