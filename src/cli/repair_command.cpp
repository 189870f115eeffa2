// `repair`: repairs what other programs' SQL did to the tables, see `OutboxOperator::repair`.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "json/line.hpp"
#include "location/location.hpp"

namespace ackbox::cli {
namespace {

std::string textOf(const Finding& finding) {
  return (finding.table.empty() ? std::string("SQLite") : finding.table) +
         (finding.row == 0 ? std::string() : " " + std::to_string(finding.row)) + ": " + finding.problem;
}

}  // namespace

int repair(Console& console, const Arguments& arguments) {
  if (arguments.dryRun && location::isUrl(arguments.file)) {
    return console.fail(kNothing,
                        location::shown(arguments.file) +
                            ": is a database, whose repair has no dry run: ackbox verify names what is wrong");
  }
  const FileRepairReport report = repairFile(console.world(), arguments);
  std::vector<std::string> left;
  for (const Finding& finding : report.left) {
    left.push_back(textOf(finding));
  }
  // A dry run exits like verify, which finds the same problems.
  const int code = left.empty() && (!arguments.dryRun || report.mended == 0) ? kDone : kProblems;
  if (console.json()) {
    json::Line line;
    line.add("done", !arguments.dryRun).add("mended", arguments.dryRun ? 0 : report.mended);
    if (arguments.dryRun) {
      line.add("would_mend", report.mended);
    }
    console.line(line.raw("findings", json::list(report.findings)).raw("left", json::list(left)));
    return code;
  }
  if (arguments.dryRun && report.mended != 0) {
    console.say("repair would report:");
  }
  for (const std::string& finding : report.findings) {
    console.say((arguments.dryRun ? "  " : "") + finding);
  }
  const std::string count = report.mended == 0 ? "nothing" : std::to_string(report.mended);
  console.say(count + (arguments.dryRun ? " would be mended; nothing was changed"
                                        : (report.mended == 0 ? " was mended" : " mended")));
  if (!left.empty()) {
    console.say(arguments.dryRun ? "would be left:" : "left:");
    for (const std::string& finding : left) {
      console.say("  " + finding);
    }
    console.remark(
        "this cannot be mended without a guess: restore a backup (ackbox restore); or let the agent make a new file, "
        "and move what is pending there: ackbox export OLD --state pending | ackbox enqueue NEW");
  }
  return code;
}

}  // namespace ackbox::cli
