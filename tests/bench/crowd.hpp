#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// Runs `work(budget, numbers, latencies)` on `threads` threads at once. `numbers` hands out message numbers; each
/// thread records the latencies of its own calls, whose count over the whole time is the rate.
template <typename Work>
Rate crowd(const Settings& settings, unsigned threads, Work work) {
  std::vector<Latencies> latencies(threads);
  std::vector<std::exception_ptr> failures(threads);
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
    });
  }
  crowd.clear();
  const auto elapsed = std::chrono::steady_clock::now() - start;
  Rate rate;
  for (unsigned index = 0; index < threads; ++index) {
    if (failures[index]) {
      std::rethrow_exception(failures[index]);
    }
    rate.latencies.merge(latencies[index]);
  }
  rate.perSecond = perSecond(rate.latencies.size(), elapsed);
  return rate;
}

}  // namespace ackbox::bench
