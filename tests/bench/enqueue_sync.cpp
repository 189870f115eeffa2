// Blocking enqueues: what a caller waits for, and how far callers share a commit. The syncs are counted below SQLite,
// so that a figure of a durable run which did not sync would be seen at once.

#include <stdexcept>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "bench/crowd.hpp"
#include "bench/measured_disk.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

Rate enqueues(const Settings& settings, unsigned threads, Durability durability) {
  const std::filesystem::path file = freshDatabase(settings.folder, "outbox");
  Rate rate;
  {
    OutboxManager manager = OutboxManager::open(file, outboxOptions(durability));
    diskCounts().reset();
    rate = crowd(settings, threads, [&](Budget& budget, std::atomic<std::uint64_t>& numbers, Latencies& latencies) {
      while (budget.take()) {
        Frame frame = frameOf(numbers++);
        const auto start = std::chrono::steady_clock::now();
        const EnqueueReceipt receipt = manager.enqueue(std::move(frame));
        latencies.add(std::chrono::steady_clock::now() - start);
        if (!receipt.isNew()) {
          throw std::runtime_error("an enqueue was refused: " + receipt.detail);
        }
      }
    });
  }
  removeDatabase(file);
  return rate;
}

std::string named(const char* kind, unsigned threads) {
  return std::string(kind) + "_" + std::to_string(threads) + (threads == 1 ? "_thread" : "_threads");
}

void addSyncs(Measurement& measurement, unsigned threads, std::size_t messages) {
  const auto commits = static_cast<double>(diskCounts().commits);
  const auto syncs = static_cast<double>(diskCounts().logSyncs);
  if (syncs < commits) {
    throw std::runtime_error("a durable commit was not synced");
  }
  measurement.figure(named("full", threads) + "_syncs_per_commit", syncs / commits);
  measurement.figure(named("full", threads) + "_messages_per_commit", static_cast<double>(messages) / commits);
}

void compareDurably(Measurement& measurement, const Settings& settings, unsigned threads) {
  Rate full = enqueues(settings, threads, Durability::powerCut);
  measurement.figure(named("full", threads) + "_per_s", full.perSecond);
  addLatencies(measurement.figures, named("full", threads), full.latencies);
  addSyncs(measurement, threads, full.latencies.size());

  Rate naive = naiveInserts(settings, threads);
  measurement.baseline(named("naive", threads) + "_per_s", naive.perSecond);
  addLatencies(measurement.baselines, named("naive", threads), naive.latencies);

  measurement.ratio(named("full_over_naive", threads), full.perSecond, naive.perSecond);
  measurement.ratio(named("naive_over_full", threads) + "_p99", naive.latencies.percentile(0.99),
                    full.latencies.percentile(0.99));
}

}  // namespace

Measurement enqueueSync(const Settings& settings) {
  Measurement measurement;
  for (const unsigned threads : {1U, 16U, 64U}) {
    compareDurably(measurement, settings, threads);
    const Rate normal = enqueues(settings, threads, Durability::processCrash);
    measurement.figure(named("normal", threads) + "_per_s", normal.perSecond);
  }
  return measurement;
}

Measurement enqueueSyncSlowDisk(const Settings& settings) {
  const SlowDisk slow(kSlowSync);
  Measurement measurement;
  compareDurably(measurement, settings, 64);
  return measurement;
}

}  // namespace ackbox::bench
