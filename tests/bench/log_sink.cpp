// What a log sink at `info` costs from enqueue to ACK. Both sides are measured in turns within one run, and compared by
// the processor time of both processes, which other work on the machine disturbs less than the rate.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/delivery.hpp"
#include "bench/operation.hpp"

namespace ackbox::bench {
namespace {

constexpr std::uint64_t kMessages = 20'000;
constexpr int kTurns = 7;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Measurement logSink(const Settings& settings) {
  Settings each = settings;
  // Figures of a run with `--count` show that it works, and no more.
  const int turns = settings.count != 0 ? 1 : kTurns;
  each.count = settings.count != 0 ? settings.count : kMessages;
  Link logged;
  logged.isLogged = true;
  std::vector<double> with;
  std::vector<double> without;
  std::vector<double> ratios;
  for (int turn = 0; turn < turns; ++turn) {
    // Who is first changes, because the second finds warm caches.
    for (const bool isLogged : {turn % 2 == 0, turn % 2 != 0}) {
      const Delivery made = deliver(each, Durability::powerCut, isLogged ? logged : Link{});
      (isLogged ? with : without).push_back(made.cpuMicroseconds());
    }
    ratios.push_back(with.back() / without.back());
  }
  Measurement measurement;
  measurement.figure("logged_cpu_us_per_message", median(with));
  measurement.baseline("plain_cpu_us_per_message", median(without));
  measurement.ratio("logged_cpu_over_plain", median(ratios), 1);
  return measurement;
}

}  // namespace ackbox::bench
