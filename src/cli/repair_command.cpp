// `repair`: what other programs' statements on the tables left behind, see `OutboxOperator::repair`.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_line.hpp"
#include "cli/open.hpp"
#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

std::string textOf(const Finding& finding) {
  return (finding.table.empty() ? std::string("SQLite") : finding.table) +
         (finding.row == 0 ? std::string() : " " + std::to_string(finding.row)) + ": " + finding.problem;
}

std::vector<std::string> findingsOf(const Console& console, const Arguments& arguments) {
  std::vector<std::string> texts;
  for (const Finding& finding : openToRead(console.world(), arguments).verify().findings) {
    texts.push_back(textOf(finding));
  }
  return texts;
}

int preview(Console& console, const Arguments& arguments) {
  const RepairReport report = previewRepair(console.world(), arguments);
  // As verify, which finds the same.
  const int code = report.mended == 0 ? kDone : kProblems;
  if (console.json()) {
    console.line(JsonLine()
                     .add("done", false)
                     .add("mended", 0)
                     .add("would_mend", report.mended)
                     .raw("findings", jsonList(report.findings)));
    return code;
  }
  if (report.mended != 0) {
    console.say("repair would report:");
  }
  for (const std::string& finding : report.findings) {
    console.say("  " + finding);
  }
  console.say(report.mended == 0 ? "nothing would be mended"
                                 : std::to_string(report.mended) + " would be mended; nothing was changed");
  return code;
}

}  // namespace

int repair(Console& console, const Arguments& arguments) {
  if (arguments.dryRun) {
    return preview(console, arguments);
  }
  const RepairReport report = openToChange(console.world(), arguments).repair();
  const std::vector<std::string> left = findingsOf(console, arguments);
  if (console.json()) {
    console.line(JsonLine()
                     .add("done", true)
                     .add("mended", report.mended)
                     .raw("findings", jsonList(report.findings))
                     .raw("left", jsonList(left)));
    return left.empty() ? kDone : kProblems;
  }
  for (const std::string& finding : report.findings) {
    console.say(finding);
  }
  console.say(report.mended == 0 ? "nothing was mended" : std::to_string(report.mended) + " mended");
  if (!left.empty()) {
    console.say("left:");
    for (const std::string& finding : left) {
      console.say("  " + finding);
    }
    console.remark(
        "this cannot be mended without a guess: restore a backup (ackbox restore); or let the agent make a new file, "
        "and "
        "move what is pending there: ackbox export OLD --state pending | ackbox enqueue NEW");
  }
  return left.empty() ? kDone : kProblems;
}

}  // namespace ackbox::cli
