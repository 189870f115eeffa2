// Enqueues by callers that do not wait for each one: a bounded window of asynchronous calls, and whole batches.

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
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

using Enqueues = std::uint64_t (*)(OutboxManager& manager, Budget& budget);

/// An outbox with its caller.
class Enqueuer {
public:
  Enqueuer(const Settings& settings, const std::string& name, Durability durability, Enqueues enqueues)
      : file_(freshDatabase(settings.folder, name)),
        enqueues_(enqueues),
        manager_(std::in_place, OutboxManager::open(file_, outboxOptions(durability))) {}
  ~Enqueuer() {
    manager_.reset();
    removeDatabase(file_);
  }
  Enqueuer(const Enqueuer&) = delete;
  Enqueuer& operator=(const Enqueuer&) = delete;

  std::uint64_t run(Budget& budget) { return enqueues_(*manager_, budget); }

private:
  const std::filesystem::path file_;
  const Enqueues enqueues_;
  std::optional<OutboxManager> manager_;
};

Pace paceOf(const Settings& settings, Durability durability, Enqueues enqueues) {
  Enqueuer outbox(settings, "outbox", durability, enqueues);
  const PaceMeter meter;
  Budget budget(settings);
  return meter.of(outbox.run(budget));
}

// In short turns, so that both see the same weather.
std::pair<Pace, Pace> besideRaw(const Settings& settings, Enqueues enqueues) {
  constexpr unsigned kTurns = 8;
  const unsigned turns = settings.count == 0 ? kTurns : 1;
  Settings turn = settings;
  turn.duration /= turns;
  Enqueuer outbox(settings, "outbox", Durability::powerCut, enqueues);
  RawInserts raw(settings);
  TurnMeter ours;
  TurnMeter theirs;
  for (unsigned taken = 0; taken < turns; ++taken) {
    Budget budget(turn);
    ours.turn([&] { return outbox.run(budget); });
    Budget other(turn);
    theirs.turn([&] { return raw.run(other); });
  }
  return {ours.pace(), theirs.pace()};
}

Measurement compared(const Settings& settings, Enqueues enqueues) {
  Measurement measurement;
  const auto [full, raw] = besideRaw(settings, enqueues);
  const Pace normal = paceOf(settings, Durability::processCrash, enqueues);
  const double naive = naiveInserts(settings, 1).perSecond;
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
