#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/machine_facts.hpp"
#include "bench/operation.hpp"

namespace ackbox::bench {

/// All runs of one operation.
struct OperationReport {
  const Operation* operation = nullptr;
  std::vector<Measurement> runs;
};

/// Everything that was measured.
struct Report {
  MachineFacts machine;
  unsigned runs = 0;
  Settings settings;
  std::vector<OperationReport> operations;
};

/// One figure over all runs.
struct Summary {
  std::string name;
  std::vector<double> runs;
  double min = 0;
  double median = 0;
  double max = 0;
};

/// The figures that `section` picks (`&Measurement::figures`, …), each over all runs, in the order of the first.
[[nodiscard]] std::vector<Summary> summaries(const std::vector<Measurement>& runs,
                                             std::vector<Figure> Measurement::*section);

void printMachine(std::ostream& out, const MachineFacts& machine);
void printOperation(std::ostream& out, const OperationReport& report);
void writeJson(std::ostream& out, const Report& report);

}  // namespace ackbox::bench
