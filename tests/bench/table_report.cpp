#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "bench/report.hpp"

namespace ackbox::bench {
namespace {

constexpr int kNameWidth = 40;
constexpr int kNumberWidth = 13;

// Three significant places for small numbers, none after the point for large ones.
std::string number(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(value < 10 ? 2 : value < 1'000 ? 1 : 0) << value;
  return text.str();
}

void printSection(std::ostream& out, const std::vector<Measurement>& runs, std::vector<Figure> Measurement::*section) {
  for (const Summary& summary : summaries(runs, section)) {
    out << "  " << std::left << std::setw(kNameWidth) << summary.name << std::right;
    for (const double value : {summary.min, summary.median, summary.max}) {
      out << std::setw(kNumberWidth) << number(value);
    }
    out << '\n';
  }
}

}  // namespace

std::vector<Summary> summaries(const std::vector<Measurement>& runs, std::vector<Figure> Measurement::*section) {
  std::vector<Summary> made;
  for (std::size_t index = 0; !runs.empty() && index < (runs.front().*section).size(); ++index) {
    Summary summary;
    summary.name = (runs.front().*section)[index].name;
    for (const Measurement& run : runs) {
      summary.runs.push_back((run.*section)[index].value);
    }
    std::vector<double> sorted = summary.runs;
    std::sort(sorted.begin(), sorted.end());
    summary.min = sorted.front();
    summary.max = sorted.back();
    const std::size_t middle = sorted.size() / 2;
    summary.median = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    made.push_back(std::move(summary));
  }
  return made;
}

void printMachine(std::ostream& out, const MachineFacts& machine) {
  out << machine.processor << ", " << machine.cores << " cores, " << machine.kernel << ", " << machine.fileSystem
      << " with an fdatasync of " << number(machine.fdatasyncMicroseconds) << " us; SQLite " << machine.sqlite << ", "
      << machine.compiler << ", " << machine.build << '\n';
  for (const std::string& warning : machine.warnings) {
    out << "WARNING: " << warning << '\n';
  }
}

void printOperation(std::ostream& out, const OperationReport& report) {
  out << '\n' << report.operation->name << ": " << report.operation->about << '\n';
  out << std::left << std::setw(kNameWidth + 2) << "" << std::right;
  for (const char* heading : {"min", "median", "max"}) {
    out << std::setw(kNumberWidth) << heading;
  }
  out << '\n';
  printSection(out, report.runs, &Measurement::figures);
  printSection(out, report.runs, &Measurement::baselines);
  printSection(out, report.runs, &Measurement::ratios);
  out << std::flush;
}

}  // namespace ackbox::bench
