#include "simulation/world.hpp"

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/agent.hpp"
#include "simulation/judge.hpp"
#include "simulation/ledger.hpp"
#include "simulation/swarm.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::simulation {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kFaultPhase = 30s;
// A step back of the calendar may hold a session for up to an hour; the longest backoff comes on top.
constexpr nanoseconds kHealPhase = 4h;
constexpr std::uint64_t kStepsMax = 20'000'000;

class World {
public:
  explicit World(const WorldOptions& options)
      : options_(options), simulation_(options.seed), swarm_(drawSwarm(simulation_.random())), common_{swarm_,
                                                                                                       ledger_,
                                                                                                       simulation_,
                                                                                                       {},
                                                                                                       false,
                                                                                                       options.canary} {
    for (std::uint32_t index = 0; index < swarm_.agents; ++index) {
      common_.names.push_back("agent" + std::to_string(index));
    }
    for (const std::string& name : common_.names) {
      addProcess(name, name, true);
    }
    if (swarm_.shared) {
      addProcess("second", common_.names.front(), false);
    }
  }

  WorldReport run() {
    simulation_.network().setFaults(swarm_.network);
    faultPhase();
    heal();
    livenessPhase();
    judge();
    report_.swarm = swarm_.describe();
    report_.messages = ledger_.entries.size();
    report_.requests = simulation_.network().requests();
    report_.seconds = std::chrono::duration<double>(simulation_.now()).count();
    report_.violations = ledger_.violations;
    return report_;
  }

private:
  void addProcess(const std::string& process, const std::string& agent, bool listens) {
    processes_.push_back(process);
    simulation_.add(process, [this, process, agent, listens](testing::SimulatedProcess& life) {
      auto made = std::make_shared<Agent>(life, common_, agent, dir_.file(agent + ".db"), listens);
      agents_[process] = made.get();
      return made;
    });
    createEffects(dir_.file(agent + ".db"));
  }

  [[nodiscard]] bool due(std::chrono::milliseconds every, nanoseconds elapsed) {
    // Exponential in the mean, as independent accidents are.
    return every.count() > 0 && drawChance(simulation_.random(), std::chrono::duration<double>(elapsed) /
                                                                     std::chrono::duration<double>(every));
  }

  [[nodiscard]] const std::string& anyOf(const std::vector<std::string>& names) {
    return names[drawBelow(simulation_.random(), names.size())];
  }

  void keepRunning() {
    for (const std::string& name : processes_) {
      if (simulation_.running(name)) {
        continue;
      }
      // Most come back soon, some stay away.
      if (common_.healed || drawChance(simulation_.random(), 0.3)) {
        simulation_.start(name);
      }
    }
  }

  void faultPhase() {
    const auto slice = 50ms;
    while (simulation_.now() < kFaultPhase) {
      keepRunning();
      speak();
      if (due(swarm_.kills, slice)) {
        killOne();
      }
      if (due(swarm_.partitions, slice)) {
        partition();
      }
      if (due(swarm_.clockFaults, slice)) {
        breakClock();
      }
      if (due(swarm_.operators, slice)) {
        operate();
      }
      run(slice);
    }
    while (said_ < options_.messages) {
      keepRunning();
      speak();
      run(slice);
    }
  }

  void run(nanoseconds time) {
    const auto end = simulation_.now() + time;
    while (simulation_.step(end)) {
      if (++report_.steps == kStepsMax) {
        ledger_.violated("liveness", "the world never comes to rest");
      }
      if (report_.steps >= kStepsMax) {
        return;
      }
    }
  }

  // In bursts, as agents do.
  void speak() {
    const std::string& name = anyOf(common_.names);
    if (said_ >= options_.messages || !simulation_.running(name) || !drawChance(simulation_.random(), 0.2)) {
      return;
    }
    const std::uint64_t burst = 1 + drawBelow(simulation_.random(), 20);
    for (std::uint64_t count = 0; count < burst && said_ < options_.messages; ++count) {
      const std::string& to = anyOf(common_.names);
      const std::string session = "s" + std::to_string(drawBelow(simulation_.random(), swarm_.sessions));
      agents_.at(name)->say("m" + std::to_string(++said_), to, session);
    }
  }

  void killOne() {
    const std::string& name = anyOf(processes_);
    if (!simulation_.running(name)) {
      return;
    }
    ++report_.kills;
    if (drawChance(simulation_.random(), 0.5)) {
      simulation_.kill(name);
    } else {
      simulation_.killAtWrite(name, drawBelow(simulation_.random(), 30));
    }
  }

  void partition() {
    testing::SimulatedNetwork& network = simulation_.network();
    if (drawChance(simulation_.random(), 0.5)) {
      network.heal();
      network.setFaults(swarm_.network);
      return;
    }
    const std::string& one = anyOf(common_.names);
    const std::string& other = anyOf(common_.names);
    network.block(one, other);
    if (drawChance(simulation_.random(), 0.5)) {
      network.block(other, one);
    }
  }

  void breakClock() {
    const std::string& name = anyOf(processes_);
    if (!simulation_.running(name)) {
      return;
    }
    testing::VirtualClock& clock = simulation_.process(name).clock();
    switch (drawBelow(simulation_.random(), 4)) {
      case 0:
        clock.step(24h);
        break;
      case 1:
        clock.step(-24h);
        break;
      case 2:
        clock.setRate(drawChance(simulation_.random(), 0.5) ? 0 : 0.5);
        break;
      default:
        clock.setRate(drawChance(simulation_.random(), 0.5) ? 1 : 1.5);
        break;
    }
  }

  // Redrives or throws away what failed, at a moment when everything else goes on.
  void operate() {
    const std::string& name = anyOf(common_.names);
    if (!simulation_.running(name)) {
      return;
    }
    OutboxManager& outbox = agents_.at(name)->outbox();
    try {
      for (const MessageInfo& dead : outbox.deadLetters({}, 100).messages) {
        Entry& entry = ledger_.entries[dead.messageId];
        // Noted first: the call may not return.
        if (drawChance(simulation_.random(), 0.7)) {
          ++entry.redrives;
          (void)outbox.retry(dead.messageId);
        } else {
          entry.discarded = true;
          (void)outbox.discard(dead.messageId);
        }
      }
    } catch (const std::exception&) {
      // Its process died at the disk.
    }
  }

  void heal() {
    common_.healed = true;
    simulation_.network().heal();
    run(1ms);
    keepRunning();
    for (const std::string& name : processes_) {
      simulation_.process(name).clock().setRate(1);
    }
  }

  void livenessPhase() {
    const auto end = simulation_.now() + kHealPhase;
    while (simulation_.now() < end && report_.steps < kStepsMax) {
      run(1s);
      // A death at the disk that was planned before may come only now.
      keepRunning();
      bool idle = true;
      for (const std::string& name : common_.names) {
        const Stats stats = agents_.at(name)->outbox().getStats();
        idle = idle && stats.pending + stats.sending + stats.sent == 0;
      }
      if (idle) {
        // Late copies are still on the way.
        run(30s);
        keepRunning();
        return;
      }
    }
    for (const std::string& name : common_.names) {
      const Stats stats = agents_.at(name)->outbox().getStats();
      ledger_.violated("liveness", name + " still has " + std::to_string(stats.pending) + " pending, " +
                                       std::to_string(stats.sending) + " sending, " + std::to_string(stats.sent) +
                                       " sent");
    }
  }

  void judge() {
    Judge judge(ledger_);
    for (const std::string& name : common_.names) {
      judge.readOutbox(name, agents_.at(name)->outbox());
    }
    for (const std::string& name : processes_) {
      simulation_.kill(name);
    }
    for (const std::string& name : common_.names) {
      judge.readEffects(name, dir_.file(name + ".db"));
    }
    judge.compare();
    report_.effects = judge.effects();
    report_.deadLetters = judge.deadLetters();
    report_.digest = judge.digest();
  }

  const WorldOptions options_;
  testing::TempDir dir_;
  Ledger ledger_;
  testing::Simulation simulation_;
  const Swarm swarm_;
  Common common_;
  std::vector<std::string> processes_;
  std::map<std::string, Agent*> agents_;
  std::uint64_t said_ = 0;
  WorldReport report_;
};

}  // namespace

WorldReport runWorld(const WorldOptions& options) {
  return World(options).run();
}

}  // namespace ackbox::simulation
