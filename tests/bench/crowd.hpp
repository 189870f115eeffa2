#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// Runs `work(budget, numbers, latencies)` on `threads` threads at once. `numbers` hands out message numbers; each
/// thread records the latencies of its own calls. The rate is their count over the time until the first thread had no
/// more to do: how long the last ones then wait, with a lock that is not fair, is a matter of latencies; in short runs
/// it would make the slower side look far slower than it is.
template <typename Work>
Rate crowd(const Settings& settings, unsigned threads, Work work) {
  std::vector<Latencies> latencies(threads);
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::chrono::steady_clock::time_point> ends(threads);
  std::atomic<std::uint64_t> numbers{0};
  std::vector<std::jthread> crowd;
  Budget budget(settings);
  const auto start = std::chrono::steady_clock::now();
  for (unsigned index = 0; index < threads; ++index) {
    crowd.emplace_back([&, index] {
      try {
        work(budget, numbers, latencies[index]);
      } catch (...) {
        failures[index] = std::current_exception();
      }
      ends[index] = std::chrono::steady_clock::now();
    });
  }
  crowd.clear();
  Rate rate;
  for (unsigned index = 0; index < threads; ++index) {
    if (failures[index]) {
      std::rethrow_exception(failures[index]);
    }
    rate.latencies.merge(latencies[index]);
  }
  rate.perSecond = perSecond(rate.latencies.size(), *std::min_element(ends.begin(), ends.end()) - start);
  return rate;
}

}  // namespace ackbox::bench
