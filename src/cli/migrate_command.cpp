#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_users.hpp"
#include "cli/open.hpp"
#include "json/line.hpp"
#include "location/location.hpp"

namespace ackbox::cli {
namespace {

bool isOfDatabase(const MigrationReport& report) {
  return report.least != 0;
}

/// What becomes of processes that have the database open.
std::string processesText(const MigrationReport& report) {
  return "processes that know version " + std::to_string(report.least) +
         " of the tables or a later one go on; all others are stopped, with an error that says so: start them anew "
         "with this release";
}

json::Line lineOf(const MigrationReport& report, bool isDone) {
  const bool isNeeded = !report.changes.empty();
  json::Line line;
  line.add("version", isDone ? report.to : report.from).add("written_by", report.writtenBy).add("migrated", isDone);
  if (isNeeded) {
    line.add("from", report.from).add("to", report.to).raw("changes", json::list(report.changes));
  }
  if (isOfDatabase(report)) {
    line.add("least", report.least);
  } else if (isDone) {
    line.add("backup", report.backup.string());
  }
  return line;
}

/// `agent.db: the tables have version 1, made by ackbox 0.1.0`.
std::string foundText(const Arguments& arguments, const MigrationReport& report) {
  return location::shown(arguments.file) + ": the tables have version " + std::to_string(report.from) +
         ", made by ackbox " + report.writtenBy;
}

void sayChanges(Console& console, const MigrationReport& report) {
  for (const std::string& change : report.changes) {
    console.say("  " + change);
  }
}

int preview(Console& console, const Arguments& arguments, const MigrationReport& planned) {
  if (console.json()) {
    console.line(lineOf(planned, false));
  } else if (planned.changes.empty()) {
    console.say(foundText(arguments, planned) +
                (planned.from == planned.to ? "; this tool writes the same: nothing to do"
                                            : "; they are later ones, which this tool may work with: nothing to do"));
  } else {
    console.say(foundText(arguments, planned) +
                (isOfDatabase(planned) ? "; without a copy, which pg_dump makes, this would be done for version "
                                       : "; the file would be copied, and then, for version ") +
                std::to_string(planned.to) + ":");
    sayChanges(console, planned);
    if (isOfDatabase(planned)) {
      console.say(processesText(planned));
    }
    console.say("nothing was changed");
  }
  return kDone;
}

}  // namespace

int migrate(Console& console, const Arguments& arguments) {
  const MigrationReport planned = previewMigration(console.world(), arguments);
  if (arguments.dryRun || planned.changes.empty()) {
    return preview(console, arguments, planned);
  }
  if (!isOfDatabase(planned)) {
    const FileUsers users = usersOf(arguments.file, sidecarOf(arguments.file, arguments.prefix));
    if (users.any()) {
      return console.fail(kNothing, arguments.file.string() + ": is open in " + users.text() + "; end it first");
    }
  }
  const MigrationReport report = migrateTables(console.world(), arguments, [&](const MigrationReport& begun) {
    if (!console.json()) {
      console.say(foundText(arguments, begun) + (isOfDatabase(begun)
                                                     ? std::string("; no copy is made, and now:")
                                                     : "; it was copied to " + begun.backup.string() + ", and now:"));
      sayChanges(console, begun);
    }
  });
  if (console.json()) {
    console.line(lineOf(report, !report.changes.empty()));
  } else {
    console.say("the tables have version " + std::to_string(report.to) + " now" +
                (isOfDatabase(report) ? "; " + processesText(report) : std::string()));
  }
  return kDone;
}

}  // namespace ackbox::cli
