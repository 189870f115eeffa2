#include "ackbox/testing/check_handler.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "testing/handler_plan.hpp"
#include "testing/handler_world.hpp"

namespace ackbox::testing {
namespace {

void validate(const CheckOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) {
      throw std::invalid_argument(std::string("CheckOptions: ") + what);
    }
  };
  require(!options.senders.empty(), "there must be a sender");
  require(options.frames > 0, "frames must be at least 1");
  require(options.sessions > 0, "sessions must be at least 1");
  require(options.worlds > 0 || !options.replay.empty(), "worlds must be at least 1");
  require(options.unordered >= 0 && options.unordered <= 1, "unordered must be from 0 to 1");
  require(options.expiring >= 0 && options.expiring <= 1, "expiring must be from 0 to 1");
  require(options.failuresMax > 0, "failuresMax must be at least 1");
  std::set<std::string> names = {options.receiver};
  for (const std::vector<std::string>* of : {&options.senders, &options.sinks}) {
    for (const std::string& name : *of) {
      require(!name.empty() && name.find('/') == std::string::npos && names.insert(name).second,
              "each process needs a name of its own, without a slash");
    }
  }
}

// The limit of steps for minimizing, besides the number of runs: a world that never comes to rest costs the most.
constexpr std::uint64_t kMinimizeStepsMax = 200'000;

/// Leaves out items of a plan for as long as the world still fails.
class Minimizer {
public:
  Minimizer(const HandlerFactory& factory, const HandlerInvariant& invariant, const CheckOptions& options)
      : factory_(factory), invariant_(invariant), options_(options), runsLeft_(options.minimizeRunsMax) {}

  [[nodiscard]] HandlerPlan minimize(HandlerPlan plan) {
    for (bool smaller = true; smaller && mayRun();) {
      smaller = false;
      for (std::size_t length = std::max<std::size_t>(countOf(plan) / 2, 1); length > 0; length /= 2) {
        smaller = leaveOut(plan, length) || smaller;
      }
    }
    return plan;
  }

private:
  [[nodiscard]] static std::size_t countOf(const HandlerPlan& plan) {
    return static_cast<std::size_t>(std::ranges::count(plan.kept, true));
  }

  [[nodiscard]] bool mayRun() const noexcept { return runsLeft_ > 0 && stepsLeft_ > 0; }

  // Tries the last items first: a fault is rarely one without the frames before it.
  bool leaveOut(HandlerPlan& plan, std::size_t length) {
    bool smaller = false;
    std::vector<std::size_t> kept;
    for (std::size_t index = 0; index < plan.kept.size(); ++index) {
      if (plan.kept[index]) {
        kept.push_back(index);
      }
    }
    for (std::size_t end = kept.size(); end > 0 && mayRun(); end -= std::min(length, end)) {
      HandlerPlan tried = plan;
      for (std::size_t place = end - std::min(length, end); place < end; ++place) {
        tried.kept[kept[place]] = false;
      }
      --runsLeft_;
      const HandlerWorldResult result = HandlerWorld(factory_, invariant_, options_, tried, 0).run();
      stepsLeft_ -= std::min(stepsLeft_, result.steps);
      if (!result.fault.empty()) {
        plan = std::move(tried);
        smaller = true;
      }
    }
    return smaller;
  }

  const HandlerFactory& factory_;
  const HandlerInvariant& invariant_;
  const CheckOptions& options_;
  std::uint32_t runsLeft_;
  std::uint64_t stepsLeft_ = kMinimizeStepsMax;
};

}  // namespace

std::string CheckReport::text() const {
  std::string text =
      std::to_string(worlds) + " worlds, " + std::to_string(frames) + " frames, " + std::to_string(calls) +
      " calls of the handler, " + std::to_string(undone) + " undone, " + std::to_string(kills) + " kills, " +
      std::to_string(diskFaults) + " disk faults, " + std::to_string(requests) + " requests: " +
      (passed()              ? "nothing is wrong\n"
       : failedSeeds.empty() ? "nothing was checked, as the handler was never called: look at what the frames are\n"
                             : std::to_string(failedSeeds.size()) + " failed\n");
  if (!failedSeeds.empty()) {
    text += "\nwrong:\n" + fault + "\nthe smallest world found in which something is:\n" + plan +
            "\nagain, with all other options as they are:\n  checkHandler(factory, invariant, {.replay = \"" + replay +
            "\"})\n\nwhat happened there:\n" + trace;
  }
  return text;
}

CheckReport checkHandler(const HandlerFactory& factory, const HandlerInvariant& invariant,
                         const CheckOptions& options) {
  validate(options);
  CheckReport report;
  const std::uint64_t worlds = options.replay.empty() ? options.worlds : 1;
  for (std::uint64_t index = 0; index < worlds && report.failedSeeds.size() < options.failuresMax; ++index) {
    HandlerPlan plan = options.replay.empty() ? drawPlan(options.seed + index, options) : readReplay(options);
    const HandlerWorldResult result = HandlerWorld(factory, invariant, options, plan, 0).run();
    ++report.worlds;
    report.frames += static_cast<std::uint64_t>(std::ranges::count_if(
        plan.items, [](const PlannedItem& item) { return std::holds_alternative<PlannedFrame>(item); }));
    report.calls += result.calls;
    report.undone += result.undone;
    report.kills += result.kills;
    report.diskFaults += result.diskFaults;
    report.requests += result.requests;
    if (result.fault.empty()) {
      continue;
    }
    report.failedSeeds.push_back(plan.seed);
    if (report.failedSeeds.size() == 1) {
      plan = Minimizer(factory, invariant, options).minimize(std::move(plan));
      HandlerWorldResult again = HandlerWorld(factory, invariant, options, plan, options.traceLinesMax).run();
      report.fault = std::move(again.fault);
      report.trace = std::move(again.trace);
      report.plan = describe(plan);
      report.replay = replayOf(plan);
    }
  }
  return report;
}

}  // namespace ackbox::testing
