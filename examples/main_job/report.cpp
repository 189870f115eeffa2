#include "report.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace main_job {
namespace {

struct Row {
  const char* label;
  const char* key;
  std::uint64_t frames;
  std::uint64_t replies;
};

std::vector<Row> ledgerRows(const Report& report) {
  const Flow& frames = report.frames;
  const Flow& replies = report.replies;
  const auto row = [&](const char* label, const char* key, auto value) {
    return Row{label, key, value(frames), value(replies)};
  };
  return {
      row("put in", "put_in", [](const Flow& flow) { return flow.comparison.putIn; }),
      row("enqueued", "enqueued", [](const Flow& flow) { return flow.sender.enqueued; }),
      row("delivered (acknowledged)", "delivered", [](const Flow& flow) { return flow.sender.acked; }),
      row("effects applied", "effects_applied", [](const Flow& flow) { return flow.comparison.effects; }),
      row("duplicates suppressed", "duplicates_suppressed", [](const Flow& flow) { return flow.receiver.duplicates; }),
      row("effects repeated", "repeated", [](const Flow& flow) { return flow.comparison.repeated; }),
      row("effects out of order", "reordered", [](const Flow& flow) { return flow.comparison.reordered; }),
      row("effects nobody asked for", "unexpected", [](const Flow& flow) { return flow.comparison.unexpected; }),
      row("lost", "lost", [](const Flow& flow) { return flow.comparison.lost; }),
  };
}

using Gauge = std::pair<const char*, std::uint64_t>;

std::array<Gauge, 10> gaugesOf(const ackbox::Stats& stats) {
  return {{{"pending", stats.pending},
           {"sending", stats.sending},
           {"sent", stats.sent},
           {"failed", stats.failed},
           {"enqueued", stats.enqueued},
           {"acked", stats.acked},
           {"retries", stats.totalRetries},
           {"received", stats.received},
           {"duplicates", stats.duplicates},
           {"gaps", stats.gaps}}};
}

nlohmann::ordered_json toJson(const ackbox::Stats& stats) {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : gaugesOf(stats)) {
    object[name] = value;
  }
  return object;
}

constexpr int kLabelWidth = 26;
constexpr int kNumberWidth = 16;

void printLine(std::ostream& output, const std::string& label, const std::string& first, const std::string& second) {
  output << std::left << std::setw(kLabelWidth) << label << std::right << std::setw(kNumberWidth) << first
         << std::setw(kNumberWidth) << second << '\n';
}

}  // namespace

void printTable(std::ostream& output, const Report& report, bool coloured) {
  printLine(output, "ledger", "alice -> bob", "bob -> alice");
  for (const Row& row : ledgerRows(report)) {
    printLine(output, row.label, std::to_string(row.frames), std::to_string(row.replies));
  }
  output << '\n';
  printLine(output, "getStats", "alice", "bob");
  const auto alice = gaugesOf(report.frames.sender);
  const auto bob = gaugesOf(report.replies.sender);
  for (std::size_t index = 0; index < alice.size(); ++index) {
    printLine(output, alice[index].first, std::to_string(alice[index].second), std::to_string(bob[index].second));
  }
  output << "\nSIGKILLs: alice " << report.killsOfAlice << ", bob " << report.killsOfBob << "; " << std::fixed
         << std::setprecision(1) << report.seconds << " s; seed " << report.seed << '\n';
  if (report.malformedLines > 0) {
    output << "malformed lines skipped: " << report.malformedLines << '\n';
  }
  const char* const colour = report.balances() ? "\033[32m" : "\033[31m";
  output << (coloured ? colour : "")
         << (report.balances() ? "The ledger balances: every frame took effect exactly once, in its session's order."
                               : "The ledger does NOT balance.")
         << (coloured ? "\033[0m" : "") << '\n';
}

void printJson(std::ostream& output, const Report& report) {
  nlohmann::ordered_json document;
  document["balances"] = report.balances();
  document["seed"] = report.seed;
  document["seconds"] = report.seconds;
  document["kills"] = {{"alice", report.killsOfAlice}, {"bob", report.killsOfBob}};
  document["malformed_lines"] = report.malformedLines;
  for (const Row& row : ledgerRows(report)) {
    document["frames"][row.key] = row.frames;
    document["replies"][row.key] = row.replies;
  }
  document["stats"] = {{"alice", toJson(report.frames.sender)}, {"bob", toJson(report.replies.sender)}};
  output << document.dump(2) << '\n';
}

}  // namespace main_job
