#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/latencies.hpp"

namespace ackbox::bench {

/// One number; the name ends with its unit: `_per_s`, `_us`, `_percent`, …, or nothing for a plain ratio.
struct Figure {
  std::string name;
  double value = 0;
};

/// What one run of one operation found.
struct Measurement {
  /// Of ackbox.
  std::vector<Figure> figures;
  /// Of what it is compared with, measured in the same run so that both see the same weather.
  std::vector<Figure> baselines;
  /// ackbox over baseline: more than 1 is faster for rates, slower for latencies.
  std::vector<Figure> ratios;

  void figure(std::string name, double value) { figures.push_back({std::move(name), value}); }
  void baseline(std::string name, double value) { baselines.push_back({std::move(name), value}); }
  void ratio(std::string name, double ours, double theirs) {
    ratios.push_back({std::move(name), theirs > 0 ? ours / theirs : 0});
  }
};

/// A rate together with the latencies behind it.
struct Rate {
  double perSecond = 0;
  Latencies latencies;
};

[[nodiscard]] inline double perSecond(std::uint64_t count, std::chrono::steady_clock::duration elapsed) {
  return static_cast<double>(count) / std::chrono::duration<double>(elapsed).count();
}

inline void addLatencies(std::vector<Figure>& to, const std::string& name, Latencies& latencies) {
  to.push_back({name + "_p50_us", latencies.percentile(0.5)});
  to.push_back({name + "_p99_us", latencies.percentile(0.99)});
  to.push_back({name + "_max_us", latencies.percentile(1)});
}

}  // namespace ackbox::bench
