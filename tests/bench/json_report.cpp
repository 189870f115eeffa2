// The JSON form of a report, schema `ackbox-bench/1`:
//
//   {"schema": "ackbox-bench/1",
//    "machine": {"processor", "cores", "kernel", "file_system", "fdatasync_p50_us", "sqlite", "compiler", "build",
//                "sanitizers", "warnings": [text]},
//    "settings": {"runs", "count", "duration_ms", "frame_bytes", "sessions"},
//    "operations": [
//      {"name", "about",
//       "figures":   {NAME: {"runs": [number per run], "min", "median", "max"}},
//       "baselines": {NAME: the same},
//       "ratios":    {NAME: the same}}]}
//
// A NAME says the durability that it was measured with (`full`: power cut, `normal`: process crash; baselines are
// FULL) and ends with its unit: `_per_s`, `_us`, `_ms`, `_mib`, `_percent`, or none for a ratio. `count` 0 means that
// `duration_ms` decided. Ratios are ackbox over baseline, taken within each run. Fields are added, never renamed.

#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/report.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

using Json = nlohmann::ordered_json;

Json section(const std::vector<Measurement>& runs, std::vector<Figure> Measurement::*which) {
  Json made = Json::object();
  for (const Summary& summary : summaries(runs, which)) {
    made[summary.name] = {
        {"runs", summary.runs}, {"min", summary.min}, {"median", summary.median}, {"max", summary.max}};
  }
  return made;
}

}  // namespace

void writeJson(std::ostream& out, const Report& report) {
  Json document;
  document["schema"] = "ackbox-bench/1";
  const MachineFacts& machine = report.machine;
  document["machine"] = {{"processor", machine.processor},
                         {"cores", machine.cores},
                         {"kernel", machine.kernel},
                         {"file_system", machine.fileSystem},
                         {"fdatasync_p50_us", machine.fdatasyncMicroseconds},
                         {"sqlite", machine.sqlite},
                         {"compiler", machine.compiler},
                         {"build", machine.build},
                         {"sanitizers", machine.sanitizers},
                         {"warnings", machine.warnings}};
  document["settings"] = {{"runs", report.runs},
                          {"count", report.settings.count},
                          {"duration_ms", report.settings.duration.count()},
                          {"frame_bytes", kFrameBytes},
                          {"sessions", kSessions}};
  document["operations"] = Json::array();
  for (const OperationReport& operation : report.operations) {
    document["operations"].push_back({{"name", operation.operation->name},
                                      {"about", operation.operation->about},
                                      {"figures", section(operation.runs, &Measurement::figures)},
                                      {"baselines", section(operation.runs, &Measurement::baselines)},
                                      {"ratios", section(operation.runs, &Measurement::ratios)}});
  }
  out << document.dump(2) << '\n';
}

}  // namespace ackbox::bench
