#include <algorithm>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/file_info.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

/// The advice on the findings. A finding of SQLite's check names no table, and means that the file is damaged.
const char* hint(const VerifyReport& report) {
  const bool isDamaged = std::any_of(report.findings.begin(), report.findings.end(),
                                     [](const Finding& finding) { return finding.table.empty(); });
  return isDamaged ? "the file is damaged: restore a backup, or recover it with sqlite3 FILE .recover"
                   : "ackbox repair FILE counts gauges anew and mends rows that were changed by hand";
}

// Empty if the tables cannot be read: the findings say so.
std::vector<FileNote> notesOf(const OutboxReader& reader) {
  try {
    return reader.fileInfo().notes;
  } catch (const Error&) {
    return {};
  }
}

std::string jsonOf(const std::vector<FileNote>& notes) {
  std::string list;
  for (const FileNote& note : notes) {
    list += (list.empty() ? "" : ",") + json::Line()
                                            .add("event", note.event)
                                            .add("at", records::instantText(note.at))
                                            .add("times", note.times)
                                            .add("text", note.text)
                                            .text();
  }
  return "[" + list + "]";
}

}  // namespace

int verify(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const VerifyReport report = reader.verify();
  const std::vector<FileNote> notes = notesOf(reader);
  std::string findings;
  Table table({{"TABLE", Align::left}, {"ROW", Align::right}, {"PROBLEM", Align::left}});
  for (const Finding& finding : report.findings) {
    json::Line line;
    line.add("table", finding.table).add("row", finding.row).add("problem", finding.problem);
    findings += (findings.empty() ? "" : ",") + line.text();
    table.add({finding.table.empty() ? "-" : finding.table, finding.row == 0 ? "-" : std::to_string(finding.row),
               finding.problem});
  }
  if (console.json()) {
    json::Line line;
    line.add("clean", report.clean())
        .add("messages", report.messages)
        .add("sessions", report.sessions)
        .add("peers", report.peers)
        .add("pages", report.pages)
        .raw("findings", "[" + findings + "]")
        .add("sqlite_version", report.sqliteVersion)
        .add("has_checkpoint_defect", report.hasCheckpointDefect)
        .add("log_not_batched", report.logNotBatched)
        .add("log_cut_short", report.logCutShort)
        .raw("not_checked", json::list(report.notChecked))
        .raw("notes", jsonOf(notes));
    console.line(line);
  } else if (report.clean()) {
    console.say("every invariant holds: " + records::countText(report.messages, "message") + ", " +
                records::countText(report.sessions, "session") + ", " + records::countText(report.peers, "peer") +
                ", " + records::countText(report.pages, "page"));
  } else {
    console.table(table);
  }
  if (!report.clean() && !console.json()) {
    console.remark(hint(report));
  }
  if (report.hasCheckpointDefect && !console.json()) {
    console.remark("note: ackbox is not affected, but another program that writes this file with SQLite " +
                   report.sqliteVersion + " should say PRAGMA wal_autocheckpoint=0 (fixed in SQLite 3.51.3)");
  }
  if (!report.logNotBatched.empty() && !console.json()) {
    console.remark("note: SQLite " + report.sqliteVersion + " writes its log by itself: " + report.logNotBatched +
                   "; commits take longer, and nothing else changes");
  }
  if (!report.logCutShort.empty() && !console.json()) {
    console.remark("note: " + report.logCutShort);
  }
  for (const std::string& name : console.json() ? std::vector<std::string>() : report.notChecked) {
    console.remark("note: the table " + name +
                   " is not checked: its indexes need functions or collations of its application");
  }
  for (const FileNote& note : console.json() ? std::vector<FileNote>() : notes) {
    console.remark("note: " + records::instantText(note.at) + ": " + note.event + ": " + note.text +
                   "; ackbox repair FILE ends this note");
  }
  return report.clean() ? kDone : kProblems;
}

}  // namespace ackbox::cli
