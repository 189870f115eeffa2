// Enqueues by callers that do not wait for each one: a bounded window of asynchronous calls, and whole batches.

#include <stdexcept>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"
#include "bench/pace.hpp"
#include "bench/raw_baseline.hpp"
#include "bench/scratch.hpp"
#include "bench/window.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

std::uint64_t enqueueInBatches(OutboxManager& manager, Budget& budget) {
  std::uint64_t sent = 0;
  while (budget.take(kBatch)) {
    std::vector<Frame> frames;
    for (unsigned index = 0; index < kBatch; ++index) {
      frames.push_back(frameOf(sent++));
    }
    for (const EnqueueReceipt& receipt : manager.enqueueBatch(frames)) {
      if (!receipt.isNew()) {
        throw std::runtime_error("an enqueue was refused: " + receipt.detail);
      }
    }
  }
  return sent;
}

Pace paceOf(const Settings& settings, Durability durability,
            std::uint64_t (*enqueues)(OutboxManager& manager, Budget& budget)) {
  const std::filesystem::path file = freshDatabase(settings.folder, "outbox");
  Pace pace;
  {
    OutboxManager manager = OutboxManager::open(file, outboxOptions(durability));
    const PaceMeter meter;
    Budget budget(settings);
    pace = meter.of(enqueues(manager, budget));
  }
  removeDatabase(file);
  return pace;
}

Measurement compared(const Settings& settings, std::uint64_t (*enqueues)(OutboxManager& manager, Budget& budget)) {
  Measurement measurement;
  const Pace full = paceOf(settings, Durability::powerCut, enqueues);
  const Pace normal = paceOf(settings, Durability::processCrash, enqueues);
  const double naive = naiveInserts(settings, 1).perSecond;
  const Pace raw = rawInserts(settings);
  measurement.figure("full_per_s", full.perSecond);
  measurement.figure("normal_per_s", normal.perSecond);
  measurement.figure("full_cpu_us_per_message", full.cpuMicroseconds);
  measurement.baseline("naive_per_s", naive);
  measurement.baseline("raw_per_s", raw.perSecond);
  measurement.baseline("raw_cpu_us_per_message", raw.cpuMicroseconds);
  measurement.ratio("full_over_naive", full.perSecond, naive);
  measurement.ratio("full_over_raw", full.perSecond, raw.perSecond);
  measurement.ratio("raw_cpu_over_full_cpu", raw.cpuMicroseconds, full.cpuMicroseconds);
  return measurement;
}

}  // namespace

Measurement enqueueAsync(const Settings& settings) {
  return compared(settings, [](OutboxManager& manager, Budget& budget) { return enqueueInWindow(manager, budget); });
}

Measurement enqueueBatch(const Settings& settings) {
  return compared(settings, enqueueInBatches);
}

}  // namespace ackbox::bench
