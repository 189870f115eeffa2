// What an agent does all day, with a small backlog and with a large one: the same figure for both, measured in turns so
// that both see the same weather. Where nine sessions in ten are in backoff, what may go is scattered over the large
// backlog, and in the small one it is soon what came last.

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "bench/backlog.hpp"
#include "bench/child_process.hpp"
#include "bench/operation.hpp"
#include "support/scripted_sender.hpp"

namespace ackbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kBatchClaims = 100;
constexpr std::size_t kMoreThanIsDue = 10'000;

/// One backlog, opened, and so far known to the manager that a claim need not read on.
class Opened {
public:
  Opened(const Settings& settings, const Backlog& given)
      : backlog(given),
        manager(OutboxManager::open(backlogFile(settings, given), backlogOptions())),
        next_(given.rows) {
    for (const Claim& claim : PullConsumer(manager).claim(kMoreThanIsDue)) {
      PullConsumer(manager).release(claim);
    }
  }

  // In the place of what was acknowledged, in sessions that are due, so that the backlog keeps its size.
  void refill(std::size_t rows) {
    std::vector<Frame> frames;
    while (frames.size() < rows) {
      if (const std::uint64_t number = next_++; backlog.isDue(number)) {
        frames.push_back(backlog.frame(number));
      }
    }
    for (const EnqueueReceipt& receipt : manager.enqueueBatch(frames)) {
      if (!receipt.isNew()) {
        throw std::runtime_error("an enqueue was refused: " + receipt.detail);
      }
    }
  }

  [[nodiscard]] Frame nextFrame() { return backlog.frame(next_++); }

  const Backlog backlog;
  OutboxManager manager;
  Latencies latencies;

private:
  std::uint64_t next_;
};

using Turn = std::function<void(Opened&)>;

// Calls `turn` for the small and the large backlog in turns; `turn` adds to the latencies itself.
void sideBySide(Measurement& measurement, const Settings& settings, Due due, std::uint64_t messagesATurn,
                const Turn& turn) {
  Opened small(settings, smallBacklog(due));
  Opened large(settings, largeBacklog(settings, due));
  for (Budget budget(settings); budget.take(messagesATurn);) {
    turn(small);
    turn(large);
  }
  const std::string_view suffix = due == Due::all ? "_all_due" : "";
  const auto nameOf = [&](const Backlog& backlog) {
    return std::string("backlog_of_").append(std::to_string(backlog.rows)).append(suffix);
  };
  addLatencies(measurement.figures, nameOf(large.backlog), large.latencies);
  addLatencies(measurement.baselines, nameOf(small.backlog), small.latencies);
  measurement.ratio(std::string("large_over_small").append(suffix).append("_p50"), large.latencies.percentile(0.5),
                    small.latencies.percentile(0.5));
}

Measurement inBothShapes(const Settings& settings, std::uint64_t messagesATurn, const Turn& turn) {
  Measurement measurement;
  for (const Due due : {Due::all, Due::oneInTen}) {
    sideBySide(measurement, settings, due, messagesATurn, turn);
  }
  return measurement;
}

// Of the harder shape.
Measurement inBackoff(const Settings& settings, const Turn& turn) {
  Measurement measurement;
  sideBySide(measurement, settings, Due::oneInTen, 1, turn);
  return measurement;
}

template <typename Work>
auto timed(Latencies& latencies, Work work) {
  const auto start = steady_clock::now();
  auto result = work();
  latencies.add(steady_clock::now() - start);
  return result;
}

std::vector<ClaimResult> acks(const std::vector<Claim>& claims) {
  std::vector<ClaimResult> results;
  for (const Claim& claim : claims) {
    results.push_back({claim.token, {}});
    results.back().result.outcome = Outcome::ack;
  }
  return results;
}

void requireFull(std::size_t claimed) {
  if (claimed != kBatchClaims) {
    throw std::runtime_error("a claim of 100 brought " + std::to_string(claimed));
  }
}

double startUpMilliseconds(const std::filesystem::path& file) {
  const auto sender = std::make_shared<testing::SilentSender>();
  const auto start = steady_clock::now();
  OutboxManager manager = OutboxManager::open(file, backlogOptions());
  manager.setSender(sender);
  manager.start();
  sender->waitForFrames(1);
  const auto elapsed = steady_clock::now() - start;
  manager.stop();
  return std::chrono::duration<double, std::milli>(elapsed).count();
}

// Where the only message that may go stands behind all the others.
double startUpToLast(const Settings& settings, const Backlog& backlog) {
  const std::filesystem::path file = backlogFile(settings, backlog);
  holdBackDue(file, backlog);
  const double milliseconds = startUpMilliseconds(file);
  letDueGo(file, backlog);
  return milliseconds;
}

double peakMebibytes(const std::filesystem::path& file) {
  ChildProcess reader({"--role", "backlog", "--file", file.string()});
  const double kibibytes = std::stod(reader.readLine());
  reader.finish();
  return kibibytes / 1024;
}

Measurement onFiles(const Settings& settings, const std::string& unit,
                    const std::function<double(const std::filesystem::path&)>& measure) {
  const double small = measure(backlogFile(settings, smallBacklog()));
  const double large = measure(backlogFile(settings, largeBacklog(settings)));
  Measurement measurement;
  measurement.figure("backlog_of_" + std::to_string(largeBacklog(settings).rows) + unit, large);
  measurement.baseline("backlog_of_" + std::to_string(smallBacklog().rows) + unit, small);
  measurement.ratio("large_over_small", large, small);
  return measurement;
}

}  // namespace

Measurement claim100(const Settings& settings) {
  return inBothShapes(settings, kBatchClaims, [](Opened& opened) {
    const std::vector<Claim> claims =
        timed(opened.latencies, [&] { return PullConsumer(opened.manager).claim(kBatchClaims); });
    requireFull(claims.size());
    PullConsumer(opened.manager).settleAll(acks(claims));
    opened.refill(claims.size());
  });
}

Measurement settle100(const Settings& settings) {
  return inBothShapes(settings, kBatchClaims, [](Opened& opened) {
    const std::vector<ClaimResult> results = acks(PullConsumer(opened.manager).claim(kBatchClaims));
    requireFull(results.size());
    for (const SettleStatus status :
         timed(opened.latencies, [&] { return PullConsumer(opened.manager).settleAll(results); })) {
      if (status != SettleStatus::settled) {
        throw std::runtime_error("a settle was not applied");
      }
    }
    opened.refill(results.size());
  });
}

Measurement enqueueOne(const Settings& settings) {
  return inBackoff(settings, [](Opened& opened) {
    const Frame frame = opened.nextFrame();
    if (!timed(opened.latencies, [&] { return opened.manager.enqueue(frame); }).isNew()) {
      throw std::runtime_error("an enqueue was refused");
    }
  });
}

Measurement getStats(const Settings& settings) {
  return inBackoff(settings, [](Opened& opened) {
    if (timed(opened.latencies, [&] { return opened.manager.getStats(); }).pending == 0) {
      throw std::runtime_error("nothing is pending");
    }
  });
}

Measurement explain(const Settings& settings) {
  return inBackoff(settings, [](Opened& opened) {
    // It is the last one of a session in backoff, so that there is the most to say.
    const auto explanation = timed(opened.latencies, [&] { return opened.manager.explain(kIdOfLast); });
    if (!explanation || explanation->reasons.empty()) {
      throw std::runtime_error("no explanation");
    }
  });
}

Measurement startUp(const Settings& settings) {
  Measurement measurement = onFiles(settings, "_ms", startUpMilliseconds);
  const double small = startUpToLast(settings, smallBacklog());
  const double large = startUpToLast(settings, largeBacklog(settings));
  measurement.figure("backlog_of_" + std::to_string(largeBacklog(settings).rows) + "_last_due_ms", large);
  measurement.baseline("backlog_of_" + std::to_string(smallBacklog().rows) + "_last_due_ms", small);
  measurement.ratio("large_over_small_last_due", large, small);
  return measurement;
}

Measurement memory(const Settings& settings) {
  return onFiles(settings, "_mib", peakMebibytes);
}

}  // namespace ackbox::bench
