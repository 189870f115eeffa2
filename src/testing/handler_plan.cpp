#include "testing/handler_plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace ackbox::testing {
namespace {

using std::chrono::milliseconds;

/// Draws the random choices of a plan.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : random_(seededRandom(seed)) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t count) { return random_->next() % count; }
  [[nodiscard]] double unit() { return static_cast<double>(random_->next() >> 11U) * 0x1p-53; }
  [[nodiscard]] bool chance(double probability) { return unit() < probability; }
  [[nodiscard]] milliseconds upTo(std::uint64_t most) { return milliseconds(1 + below(most)); }
  [[nodiscard]] const std::string& of(const std::vector<std::string>& names) { return names[below(names.size())]; }

private:
  const std::shared_ptr<Random> random_;
};

// Faults occur during the time in which frames are enqueued.
constexpr std::uint64_t kSpanMs = 4'000;

struct NetworkFaultKind {
  double NetworkFaults::*kind;
  std::string_view name;
  double most;
};
constexpr std::array kNetworkFaults{
    NetworkFaultKind{&NetworkFaults::refused, "connections are refused", 0.2},
    NetworkFaultKind{&NetworkFaults::requestLost, "requests are lost", 0.15},
    NetworkFaultKind{&NetworkFaults::cutBefore, "connections break before the request", 0.2},
    NetworkFaultKind{&NetworkFaults::cutAfter, "connections break before the answer", 0.3},
    NetworkFaultKind{&NetworkFaults::answerLost, "answers are lost", 0.15},
    NetworkFaultKind{&NetworkFaults::duplicated, "requests arrive twice", 1},
    NetworkFaultKind{&NetworkFaults::overloaded, "requests are answered 503", 0.1},
};

void drawFrames(Dice& dice, const CheckOptions& options, HandlerPlan& plan) {
  const bool unordered = dice.chance(0.5);
  const bool expiring = dice.chance(0.4);
  const bool crowds = dice.chance(0.5);
  milliseconds at{0};
  std::string sender = dice.of(options.senders);
  for (std::uint64_t number = 1; number <= options.frames; ++number) {
    PlannedFrame frame;
    // Some frames share an instant, and so a commit and a request.
    if (!dice.chance(crowds ? 0.7 : 0.2)) {
      at += dice.upTo(std::max<std::uint64_t>(2 * kSpanMs / options.frames, 2));
      sender = dice.of(options.senders);
    }
    frame.at = at;
    frame.sender = sender;
    frame.number = number;
    const bool hasNone = dice.chance(options.unordered) && unordered;
    const std::uint64_t session = 1 + dice.below(options.sessions);
    frame.session = hasNone ? "" : "s" + std::to_string(session);
    const bool expires = dice.chance(options.expiring) && expiring;
    const milliseconds life = dice.upTo(3'000);
    frame.expiresAfter = expires ? std::optional(life) : std::nullopt;
    plan.items.emplace_back(std::move(frame));
  }
}

void drawProcessFaults(Dice& dice, const CheckOptions& options, HandlerPlan& plan) {
  const auto process = [&] { return dice.chance(0.75) ? options.receiver : dice.of(options.senders); };
  for (std::uint64_t left = dice.chance(0.7) ? dice.below(8) : 0; left > 0; --left) {
    PlannedKill kill;
    kill.at = dice.upTo(kSpanMs);
    kill.process = process();
    kill.away = dice.upTo(300);
    const bool atWrite = dice.chance(0.6);
    const std::uint64_t write = dice.below(30);
    kill.atWrite = atWrite ? std::optional(write) : std::nullopt;
    plan.items.emplace_back(std::move(kill));
  }
  for (std::uint64_t left = dice.chance(0.6) ? dice.below(8) : 0; left > 0; --left) {
    constexpr std::array kFaults{DiskFault::busy, DiskFault::full, DiskFault::ioError};
    PlannedDiskFault fault;
    fault.at = dice.upTo(kSpanMs);
    fault.process = process();
    fault.fault = kFaults[dice.below(kFaults.size())];
    fault.after = dice.below(6);
    // Once, or for longer than a wait for the lock.
    fault.count = dice.chance(0.5) ? 1 : 1 + dice.below(100);
    plan.items.emplace_back(std::move(fault));
  }
  for (std::uint64_t left = dice.chance(0.4) ? dice.below(4) : 0; left > 0; --left) {
    PlannedBlock block;
    block.at = dice.upTo(kSpanMs);
    block.from = options.receiver;
    block.to = dice.of(options.senders);
    if (dice.chance(0.3)) {
      std::swap(block.from, block.to);
    }
    block.time = dice.upTo(2'000);
    plan.items.emplace_back(std::move(block));
  }
  for (std::uint64_t left = dice.chance(0.3) ? dice.below(4) : 0; left > 0; --left) {
    PlannedClockStep step;
    step.at = dice.upTo(kSpanMs);
    step.process = process();
    step.by = dice.upTo(10'000) - milliseconds(5'000);
    plan.items.emplace_back(std::move(step));
  }
}

void drawAccidents(Dice& dice, const CheckOptions& options, HandlerPlan& plan) {
  using Kind = PlannedAccident::Kind;
  constexpr std::array kKinds{Kind::undo,         Kind::undo, Kind::commitFull,
                              Kind::commitBroken, Kind::kill, Kind::queueFull};
  const double share = dice.chance(0.8) ? dice.unit() * 0.4 : 0;
  for (std::uint64_t number = 1; number <= options.frames; ++number) {
    PlannedAccident accident;
    accident.number = number;
    accident.kind = kKinds[dice.below(kKinds.size())];
    accident.write = dice.below(8);
    if (dice.chance(share)) {
      plan.items.emplace_back(accident);
    }
  }
}

std::string instantOf(milliseconds at) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s: ", std::chrono::duration<double>(at).count());
  return text.data();
}

std::string describe(const PlannedFrame& frame) {
  return instantOf(frame.at) + frame.sender + " enqueues m" + std::to_string(frame.number) +
         (frame.session.empty() ? " outside sessions" : " in session " + frame.session) +
         (frame.expiresAfter ? ", which expires after " + std::to_string(frame.expiresAfter->count()) + " ms" : "");
}

std::string describe(const PlannedKill& kill) {
  return instantOf(kill.at) + kill.process + " is killed" +
         (kill.atWrite ? " after " + std::to_string(*kill.atWrite) + " more writes" : "") + ", and starts after " +
         std::to_string(kill.away.count()) + " ms";
}

std::string describe(const PlannedDiskFault& fault) {
  const std::string what = fault.fault == DiskFault::busy   ? "write locks are busy"
                           : fault.fault == DiskFault::full ? "writes find the disk full"
                                                            : "writes and syncs fail";
  return instantOf(fault.at) + std::to_string(fault.count) + " of " + fault.process + "'s " + what + ", after " +
         std::to_string(fault.after) + " more";
}

std::string describe(const PlannedBlock& block) {
  return instantOf(block.at) + "nothing from " + block.from + " reaches " + block.to + " for " +
         std::to_string(block.time.count()) + " ms";
}

std::string describe(const PlannedClockStep& step) {
  return instantOf(step.at) + step.process + "'s calendar is moved by " + std::to_string(step.by.count()) + " ms";
}

std::string describe(const PlannedNetworkFault& fault) {
  const auto* const kind =
      std::ranges::find_if(kNetworkFaults, [&](const NetworkFaultKind& one) { return one.kind == fault.kind; });
  std::array<char, 32> share{};
  std::snprintf(share.data(), share.size(), " (%.0f %%)", 100 * fault.probability);
  return "all the time: " + std::string(kind->name) + share.data();
}

std::string describe(const PlannedAccident& accident) {
  std::string call = "at the handler's call with m" + std::to_string(accident.number) + ": ";
  switch (accident.kind) {
    case PlannedAccident::Kind::undo:
      return call + "what it wrote is undone, and it is called again (deferred: its commit finds the write lock busy)";
    case PlannedAccident::Kind::commitFull:
      return call + "a commit finds the disk full";
    case PlannedAccident::Kind::commitBroken:
      return call + "a commit fails";
    case PlannedAccident::Kind::kill:
      return call + "the process is killed after " + std::to_string(accident.write) + " more writes";
    case PlannedAccident::Kind::queueFull:
      return call + "there is no room for what it enqueues";
  }
  return call;
}

[[noreturn]] void refuse(const std::string& replay) {
  throw std::invalid_argument("CheckOptions::replay is \"" + replay + "\", and must be what a report named");
}

std::uint64_t readNumber(std::string_view& text, const std::string& whole) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    refuse(whole);
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool skip(std::string_view& text, char character) {
  const bool found = text.starts_with(character);
  text.remove_prefix(found ? 1 : 0);
  return found;
}

}  // namespace

HandlerPlan drawPlan(std::uint64_t seed, const CheckOptions& options) {
  Dice dice(seed);
  HandlerPlan plan;
  plan.seed = seed;
  constexpr std::array<std::uint32_t, 4> kBatches{1, 3, 16, 256};
  plan.batchFrames = kBatches[dice.below(kBatches.size())];
  constexpr std::array kDelays{milliseconds(2), milliseconds(20), milliseconds(500)};
  plan.delayMax = kDelays[dice.below(kDelays.size())];
  drawFrames(dice, options, plan);
  for (const NetworkFaultKind& fault : kNetworkFaults) {
    const double probability = dice.unit() * fault.most;
    if (dice.chance(0.5)) {
      plan.items.emplace_back(PlannedNetworkFault{fault.kind, probability});
    }
  }
  drawProcessFaults(dice, options, plan);
  drawAccidents(dice, options, plan);
  plan.kept.assign(plan.items.size(), true);
  return plan;
}

HandlerPlan readReplay(const CheckOptions& options) {
  std::string_view text = options.replay;
  HandlerPlan plan = drawPlan(readNumber(text, options.replay), options);
  if (text.empty()) {
    return plan;
  }
  plan.kept.assign(plan.items.size(), false);
  if (text == ":") {
    return plan;
  }
  for (bool more = skip(text, ':'); more; more = skip(text, ',')) {
    const std::uint64_t first = readNumber(text, options.replay);
    const std::uint64_t last = skip(text, '-') ? readNumber(text, options.replay) : first;
    if (last >= plan.items.size()) {
      refuse(options.replay);
    }
    for (std::uint64_t item = first; item <= last; ++item) {
      plan.kept[item] = true;
    }
  }
  if (!text.empty()) {
    refuse(options.replay);
  }
  return plan;
}

std::string replayOf(const HandlerPlan& plan) {
  std::string text = std::to_string(plan.seed);
  if (std::ranges::all_of(plan.kept, [](bool kept) { return kept; })) {
    return text;
  }
  if (std::ranges::none_of(plan.kept, [](bool kept) { return kept; })) {
    return text + ":";
  }
  char before = ':';
  for (std::size_t first = 0; first < plan.kept.size(); ++first) {
    if (!plan.kept[first]) {
      continue;
    }
    std::size_t last = first;
    while (last + 1 < plan.kept.size() && plan.kept[last + 1]) {
      ++last;
    }
    text += before + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    before = ',';
    first = last;
  }
  return text;
}

std::string describe(const HandlerPlan& plan) {
  std::string text;
  for (std::size_t index = 0; index < plan.items.size(); ++index) {
    if (plan.kept[index]) {
      text += std::visit([](const auto& item) { return describe(item); }, plan.items[index]) + "\n";
    }
  }
  return text;
}

}  // namespace ackbox::testing
