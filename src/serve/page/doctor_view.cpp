#include "cli/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

// As the tool's `doctor`.
constexpr std::uint64_t kLongLogBytes = 256ULL << 20U;
constexpr std::chrono::minutes kClockTolerance{5};

class Findings {
public:
  void add(Markup about, Markup level, std::string_view text, std::string_view advice = {}) {
    html_.raw("<li data-level=\"")
        .raw(level)
        .raw("\"><strong>")
        .raw(about)
        .raw("</strong> <span>")
        .text(text)
        .raw("</span>");
    if (!advice.empty()) {
      html_.raw("<span class=\"advice\">").text(advice).raw("</span>");
    }
    html_.raw("</li>\n");
  }
  [[nodiscard]] const Html& html() const { return html_; }

private:
  Html html_;
};

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

}  // namespace

Html doctorView(const View& view, const Checkup& checkup) {
  const Stats& stats = checkup.stats;
  const FileInfo& file = checkup.file;
  Findings findings;
  findings.add("File", "ok",
               cli::bytesText(stats.fileBytes) + ", of which " + cli::bytesText(stats.freeBytes) + " are free");
  if (stats.walBytes > kLongLogBytes) {
    findings.add("Log", "warning", cli::bytesText(stats.walBytes),
                 "End the reader that keeps it from being folded in, such as a long SELECT of another program.");
  } else {
    findings.add("Log", "ok", cli::bytesText(stats.walBytes));
  }
  findings.add("Tables", "ok",
               "version " + std::to_string(file.schemaVersion) + ", made by ackbox " + file.writtenBy + ", opened " +
                   cli::countText(file.epoch, "time"));
  if (stats.recounts != 0) {
    findings.add("Gauges", "note", "counted anew " + cli::countText(stats.recounts, "time"),
                 "No program may change rows by SQL; ackbox verify checks them.");
  }
  findings.add("Store", "ok", file.origin);
  findings.add("Processes", "ok", "agents that have the file open: " + joined(checkup.processIds));
  findings.add("SQLite", "ok",
               file.sqliteVersion +
                   (file.logNotBatched.empty() ? "; the log is written in batches" : "; " + file.logNotBatched));
  if (file.hasCheckpointDefect) {
    findings.add("SQLite", "note", "older than 3.51.3: its automatic checkpoints may damage a file",
                 "ackbox makes none; other programs on this file say PRAGMA wal_autocheckpoint=0.");
  }
  if (file.newestAt && *file.newestAt > view.now + kClockTolerance) {
    findings.add("Clock", "problem", "the file knows an instant that comes " + cli::agoText(view.now, *file.newestAt),
                 "Set the clock: signatures are refused at 5 minutes' difference.");
  } else {
    findings.add("Clock", "ok", cli::instantText(view.now));
  }
  Html html;
  html.raw("<h1>Doctor</h1>\n<ul class=\"findings\" data-live=\"list\">\n").add(findings.html()).raw("</ul>\n");
  html.raw(
      "<p>A look at every row takes time by the size of the file, and is a command: <code>ackbox verify FILE</code>. "
      "What surrounds the file, such as permissions and the disk: <code>ackbox doctor FILE</code>.</p>\n");
  return html;
}

}  // namespace ackbox::serve::page
