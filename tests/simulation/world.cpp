#include "simulation/world.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/random.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/agent.hpp"
#include "simulation/agent_files.hpp"
#include "simulation/common.hpp"
#include "simulation/judge.hpp"
#include "simulation/ledger.hpp"
#include "simulation/operators.hpp"
#include "simulation/places.hpp"
#include "simulation/readers.hpp"
#include "simulation/swarm.hpp"
#include "simulation/watch.hpp"
#include "store/writer.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::simulation {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kFaultPhase = 30s;
// A step back of the calendar may hold a session for up to an hour; the longest backoff is added.
constexpr nanoseconds kHealPhase = 4h;
// After this time of it, everybody polls seldom.
constexpr nanoseconds kHurry = 2min;
constexpr std::uint64_t kStepsMax = 20'000'000;

// What needs a file is left out. Several processes at one outbox are what databases are for.
void toDatabases(Swarm& swarm, std::uint64_t seed) {
  constexpr std::uint64_t kFifthSeed = 0xC3C3'5A5A'3C3C'A5A3U;
  const std::shared_ptr<Random> random = seededRandom(seed ^ kFifthSeed);
  swarm.fileAccidents = swarm.readers = std::chrono::milliseconds(0);
  swarm.shared = swarm.shared || drawChance(*random, 0.6);
  // A calendar that was set back may hold a session for an hour, in which each process polls the server.
  if (drawChance(*random, 0.7)) {
    swarm.clockFaults = std::chrono::milliseconds(0);
  }
}

// No applications with accidents, as their work outlasts a restored file, nor with the canary's late effects.
Swarm drawWorld(Random& random, const WorldOptions& options) {
  constexpr std::uint64_t kOtherSeed = 0xA5A5'5A5A'C3C3'3C3CU;
  constexpr std::uint64_t kThirdSeed = 0x3C3C'C3C3'5A5A'A5A7U;
  constexpr std::uint64_t kFourthSeed = 0x5A5A'3C3C'A5A5'C3C1U;
  Swarm swarm = drawSwarm(random, options.accidents);
  if (!options.accidents && !options.canary) {
    swarm.applications = drawApplications(*seededRandom(options.seed ^ kOtherSeed), swarm.agents);
    swarm.mailboxes = drawMailboxes(*seededRandom(options.seed ^ kFourthSeed));
  }
  if (swarm.mailboxes.takers > 0) {
    // Where no event tells of it, a sender learns by asking what the agent of a mailbox has done.
    swarm.outbox.ackTimeout = std::min(swarm.outbox.ackTimeout, std::chrono::milliseconds(2'000));
  }
  if (!placesKind().areFiles) {
    toDatabases(swarm, options.seed);
  }
  swarm.publishes = !options.accidents && !options.canary && drawChance(*seededRandom(options.seed ^ kThirdSeed), 0.6);
  return swarm;
}

class World {
public:
  explicit World(const WorldOptions& options)
      : options_(options),
        simulation_(options.seed),
        swarm_(drawWorld(simulation_.random(), options)),
        reach_(ledger_, simulation_, swarm_.diskFaults.count() == 0),
        hands_(ledger_, reach_, swarm_.handling.thinkTimeout),
        attendance_(ledger_, reach_, simulation_),
        publications_(ledger_, reach_, options.seed),
        hub_(swarm_, ledger_, reach_, simulation_),
        watch_(ledger_, reach_, attendance_, hub_, simulation_, swarm_.clockFaults.count() == 0),
        common_{swarm_, ledger_, simulation_, *places_, watch_, reach_, hands_, attendance_, publications_,
                hub_,   {},      {},          {},       {},     0,      false,  false,       options.canary},
        operators_(common_) {
    for (std::uint32_t index = 0; index < swarm_.agents; ++index) {
      common_.names.push_back("agent" + std::to_string(index));
    }
    for (const std::string& name : common_.names) {
      const bool pulls = swarm_.pulls && name == common_.names.back();
      addProcess(name, name, pulls ? Agent::Role::pulls : Agent::Role::whole);
    }
    if (swarm_.shared) {
      addProcess("second", common_.names.front(), Agent::Role::second);
    }
    addMailboxes();
  }

  WorldReport run() {
    const store::Writer::Totals before = store::Writer::totals();
    simulation_.network().setFaults(swarm_.network);
    faultPhase();
    heal();
    livenessPhase();
    judge();
    report_.swarm = swarm_.describe();
    report_.messages = ledger_.entries.size();
    report_.requests = simulation_.network().requests();
    report_.seconds = std::chrono::duration<double>(simulation_.now()).count();
    const store::Writer::Totals after = store::Writer::totals();
    report_.inlineCommits = after.inCallers - before.inCallers;
    report_.queuedCommits = after.queued - before.queued;
    report_.sharedCommits = after.shared - before.shared;
    reach_.commits(report_.inlineCommits, report_.sharedCommits);
    report_.seen = reach_.seen();
    report_.violations = ledger_.violations;
    return report_;
  }

private:
  // The agent that fetches is an agent as the others.
  void addMailboxes() {
    addressees_ = common_.names;
    for (const std::string& box : hub_.boxes()) {
      attendance_.keeps(common_.names.front(), box);
      addressees_.push_back(box);
    }
    if (!hub_.fetcher().empty()) {
      common_.names.push_back(hub_.fetcher());
      addProcess(hub_.fetcher(), hub_.fetcher(), Agent::Role::fetches);
    }
  }

  void addProcess(const std::string& process, const std::string& agent, Agent::Role role) {
    processes_.push_back(process);
    processesOf_[agent].push_back(process);
    simulation_.add(process, [this, process, agent, role](testing::SimulatedProcess& life) {
      auto made = std::make_shared<Agent>(life, common_, Place{agent, process}, role);
      agents_[process] = made.get();
      return made;
    });
    places_->create(agent);
  }

  [[nodiscard]] bool due(std::chrono::milliseconds every, nanoseconds elapsed) {
    // An exponential distribution with this mean, as for independent accidents.
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
      // Most processes restart soon, some stay down.
      if (common_.healed || drawChance(simulation_.random(), 0.3)) {
        start(name);
      }
    }
  }

  // Starts a process, and tries again later if that is refused: while another program holds a snapshot, SQLite cannot
  // recover a dead process's log. No other cause is allowed, nor a refusal after the readers end.
  void start(const std::string& process) {
    try {
      simulation_.start(process);
    } catch (const Error& error) {
      if (error.code() != Errc::databaseBusy || !readers_.holds(agentOf(process))) {
        throw;
      }
      reach_.saw(Situation::startRefused);
    }
  }

  [[nodiscard]] const std::string& agentOf(const std::string& process) const {
    const auto found = std::ranges::find_if(processesOf_, [&](const auto& agent) {
      return std::ranges::find(agent.second, process) != agent.second.end();
    });
    return found->first;
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
      if (due(swarm_.diskFaults, slice)) {
        failDisk();
      }
      if (due(swarm_.fileAccidents, slice)) {
        harmFile();
      }
      if (due(swarm_.readers, slice)) {
        readers_.act(anyOf(common_.names));
      }
      run(slice);
    }
    readers_.endAll();
    while (said_ < messages()) {
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

  // Fewer where mailboxes make each of them last longer.
  [[nodiscard]] std::uint64_t messages() const {
    return hub_.boxes().empty() ? options_.messages : options_.messages / 2;
  }

  // With a changing pace, seconds with many messages alternate with seconds of lone ones.
  [[nodiscard]] bool speaksAlone() const {
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(simulation_.now()).count();
    return swarm_.pace == Pace::lone || (swarm_.pace == Pace::changing && since / 4 % 2 == 1);
  }

  // Enqueues in bursts, as agents do, or one message at a time.
  void speak() {
    const std::string& process = anyOf(processes_);
    if (!simulation_.running(process)) {
      return;
    }
    repeat(process);
    const bool alone = speaksAlone();
    if (said_ < messages() && drawChance(simulation_.random(), alone ? 0.5 : 0.2)) {
      sayMany(process, alone ? 1 : 20);
    }
  }

  void sayMany(const std::string& process, std::uint64_t most) {
    const std::uint64_t burst = 1 + drawBelow(simulation_.random(), most);
    for (std::uint64_t count = 0; count < burst && said_ < messages(); ++count) {
      sayNew(process);
    }
  }

  void sayNew(const std::string& process) {
    Random& random = simulation_.random();
    const std::string to = anyOf(addressees_);
    const std::uint64_t session = drawBelow(random, swarm_.sessions);
    sayNew(process, to, drawChance(random, swarm_.wishes.unordered) ? "" : "s" + std::to_string(session));
  }

  // Adds one more message, without wishes, to the ledger and returns its name.
  std::string nameNext(const std::string& process, const std::string& to, const std::string& session) {
    Agent& agent = *agents_.at(process);
    const std::string name = "m" + std::to_string(++said_);
    Entry& entry = ledger_.entries[name];
    entry.from = agent.name();
    entry.to = to;
    entry.session = session;
    entry.saidAt = agent.process().clock().wallNow();
    return name;
  }

  void sayNew(const std::string& process, const std::string& to, const std::string& session) {
    Random& random = simulation_.random();
    const Wishes& wishes = swarm_.wishes;
    Agent& agent = *agents_.at(process);
    const std::string name = nameNext(process, to, session);
    Entry& entry = ledger_.entries.at(name);
    if (drawChance(random, wishes.superseding) && !entry.session.empty()) {
      entry.supersedeKey = "k" + std::to_string(drawBelow(random, 3));
    }
    if (drawChance(random, wishes.delayed)) {
      entry.notBefore = entry.saidAt + std::chrono::milliseconds(drawBelow(random, 5'000));
    }
    if (drawChance(random, wishes.expiring)) {
      entry.expiresAt = entry.saidAt + std::chrono::milliseconds(5'000 + drawBelow(random, 20'000));
    }
    // The instant depends on the current calendar; in a later repetition it could differ by a day.
    if (drawChance(random, wishes.repeated) && !entry.notBefore) {
      repeated_.push_back({name, process, 1, false});
      agent.say(name, 1);
    } else {
      agent.say(name, 0);
    }
  }

  // Repeats as an agent that a kill left in doubt: until the enqueue has returned, and once more for safety.
  void repeat(const std::string& process) {
    for (Repetition& one : repeated_) {
      if (one.process == process && !one.over && drawChance(simulation_.random(), 0.3)) {
        one.over = ledger_.entries.at(one.name).confirmed;
        agents_.at(process)->say(one.name, ++one.attempts);
      }
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

  void failDisk() {
    Random& random = simulation_.random();
    const std::string& name = anyOf(processes_);
    if (simulation_.running(name)) {
      constexpr std::array kFaults{testing::DiskFault::busy, testing::DiskFault::full, testing::DiskFault::ioError};
      const testing::DiskFault fault = kFaults[drawBelow(random, kFaults.size())];
      // Longer than a process waits for a lock, or just once.
      const std::uint64_t count = drawChance(random, 0.5) ? 1 : 1 + drawBelow(random, 200);
      simulation_.failDisk(name, fault, drawBelow(random, 10), count);
      ++report_.diskFaults;
    }
  }

  // Acts as an administrator: stops all processes of the agent. Soon one of them starts again and enqueues many
  // messages.
  void harmFile() {
    Random& random = simulation_.random();
    const std::string& agent = anyOf(common_.names);
    if (drawChance(random, 0.5)) {
      files_.backUp(agent);
      copiedAt_[agent] = simulation_.now();
      return;
    }
    const auto copied = copiedAt_.find(agent);
    const bool loses = drawChance(random, 0.3);
    if (!loses && copied == copiedAt_.end()) {
      return;
    }
    readers_.end(agent);
    for (const std::string& process : processesOf_.at(agent)) {
      simulation_.kill(process);
    }
    const std::set<std::string> undone = loses ? files_.lose(agent) : files_.putBack(agent);
    note(agent, loses ? std::nullopt : std::optional(copied->second), undone);
    ++(loses ? common_.lost : common_.putBack)[agent];
    ++report_.accidents;
    // Each copy is restored once: otherwise a file could return to a past that it had left before.
    copiedAt_.erase(agent);
    common_.watch.releasedAll(agent);
    const std::string& process = processesOf_.at(agent).front();
    if (drawChance(random, 0.7)) {
      start(process);
      sayMany(process, 100);
    }
    if (const std::string& other = anyOf(processes_); simulation_.running(other)) {
      sayMany(other, 50);
    }
  }

  // Records the losses. `since`: when the copy was made; nothing: the file was lost.
  void note(const std::string& agent, std::optional<nanoseconds> since, const std::set<std::string>& undone) {
    ledger_.hasAccidents = true;
    for (auto& [name, entry] : ledger_.entries) {
      if (entry.from == agent && (!since || !entry.confirmed || entry.confirmedAt >= *since)) {
        entry.lostWithFile = true;
      }
      if (entry.from == agent && entry.answeredAt && (!since || *entry.answeredAt >= *since)) {
        entry.answeredAt.reset();
      }
      // Its author's file may no longer have the data by which the loss would be noticed.
      if (entry.from == agent && entry.undone && entry.session.empty()) {
        entry.mayStayUndone = true;
      }
    }
    // A restored file is noticed by a session of which it forgot a part, a new file by its identity. A deferred message
    // may have been accepted before the copy was made: its session then shows nothing.
    std::set<std::string> noticing;
    for (const std::string& id : undone) {
      const Entry& entry = ledger_.entries.at(nameOf(id));
      const bool isForgotten =
          entry.answeredAt && since && *entry.answeredAt >= *since && !entry.session.empty() && !entry.deferred;
      if (isForgotten || (entry.answeredAt && !since)) {
        noticing.insert(entry.from);
      }
    }
    for (const std::string& id : undone) {
      Entry& entry = ledger_.entries.at(nameOf(id));
      entry.undone = true;
      entry.mayStayUndone = swarm_.outbox.peerReset == PeerResetPolicy::proceed || entry.expiresAt ||
                            (entry.session.empty() && !noticing.contains(entry.from));
    }
  }

  // A restored receiver is noticed when a session sends the next message. An agent that dies before its enqueue returns
  // enqueues again.
  void sayLast() {
    std::vector<Lane> lanes;
    for (const std::string& from : common_.names) {
      for (const std::string& to : common_.names) {
        for (std::uint32_t session = 0; session < swarm_.sessions && report_.accidents > 0; ++session) {
          lanes.push_back({from, to, "s" + std::to_string(session), {}});
        }
      }
    }
    // Without wishes, which might prevent sending. A full queue has room after a delivery; one that stays full for 100
    // seconds is blocked.
    for (auto pause = 100ms; pause < 100s && !lanes.empty(); pause *= 2) {
      keepRunning();
      for (Lane& lane : lanes) {
        lane.last = nameNext(lane.from, lane.to, lane.session);
        agents_.at(lane.from)->say(lane.last, 0);
      }
      run(pause);
      std::erase_if(lanes, [this](const Lane& lane) { return ledger_.entries.at(lane.last).confirmed; });
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
    // Earlier enqueues are stored before the clock changes.
    run(0ms);
    if (!simulation_.running(name)) {
      return;
    }
    testing::VirtualClock& clock = simulation_.process(name).clock();
    switch (drawBelow(simulation_.random(), 4)) {
      case 0:
        clock.step(24h);
        aheadBy_[name] += 24h;
        break;
      case 1:
        clock.step(-24h);
        aheadBy_[name] -= 24h;
        break;
      case 2:
        clock.setRate(drawChance(simulation_.random(), 0.5) ? 0 : 0.5);
        break;
      default:
        clock.setRate(drawChance(simulation_.random(), 0.5) ? 1 : 1.5);
        break;
    }
  }

  void operate() {
    const std::string& name = anyOf(processes_);
    if (simulation_.running(name)) {
      withAgent(name, [this](Agent& agent) { operators_.act(agent); });
    }
  }

  // Whether the use succeeded. A failure means a disk that died with its process, or that fails for a while.
  template <typename Use>
  bool withAgent(const std::string& name, Use use) {
    try {
      use(*agents_.at(name));
      return true;
    } catch (const Error& error) {
      const bool mayFail = swarm_.diskFaults.count() > 0 && !common_.healed;
      if (swarm_.kills.count() == 0 && swarm_.handling.suicide == 0 && !mayFail) {
        ledger_.violated("P1", name + " failed although nothing had died: " + error.what());
      }
      if (!mayFail) {
        simulation_.kill(name);
      }
      return false;
    }
  }

  void heal() {
    common_.healed = true;
    readers_.endAll();
    simulation_.network().heal();
    for (const std::string& name : processes_) {
      if (simulation_.running(name)) {
        simulation_.mendDisk(name);
        simulation_.process(name).clock().setRate(1);
      }
    }
    // After a failed attempt a store waits before it tries again: the actions below must not fail.
    run(1s);
    keepRunning();
    for (const std::string& name : common_.names) {
      while (!withAgent(name, [this](Agent& agent) { operators_.letGo(agent); })) {
        keepRunning();
      }
    }
    for (const std::string& name : processes_) {
      testing::VirtualClock& clock = simulation_.process(name).clock();
      clock.setRate(1);
      // Where no event tells what a mailbox's agent has done, its sender asks at an instant of its calendar.
      if (const auto ahead = aheadBy_.find(name);
          !hub_.boxes().empty() && ahead != aheadBy_.end() && ahead->second < 0s) {
        clock.step(std::chrono::duration_cast<std::chrono::milliseconds>(-ahead->second));
      }
    }
    sayLast();
  }

  // Reports every message that still waits, and the reason.
  void complain() {
    for (const std::string& name : common_.names) {
      OutboxManager& outbox = agents_.at(name)->outbox();
      const Stats stats = outbox.getStats();
      if (isIdle(stats) || mayWait(name, stats)) {
        continue;
      }
      ledger_.violated("liveness", name + " still has " + std::to_string(stats.pending) + " pending, " +
                                       std::to_string(stats.sending) + " sending, " + std::to_string(stats.sent) +
                                       " sent, " + std::to_string(stats.inbox) + " in its inbox");
      for (const MessageInfo& message : OutboxReader(outbox).messages({}, 100).messages) {
        if (message.state != MessageState::failed && message.state != MessageState::acked) {
          const auto explanation = outbox.explain(message.messageId);
          ledger_.violated("liveness", message.messageId + " waits: " + (explanation ? explanation->sentence : ""));
          break;
        }
      }
      complainOfInbox(outbox);
    }
  }

  void complainOfInbox(OutboxManager& outbox) {
    const InboxPage page = OutboxReader(outbox).inbox({}, 1);
    if (!page.frames.empty()) {
      const InboxInfo& first = page.frames.front();
      const auto explanation = OutboxReader(outbox).explainInbox(first.source, first.messageId);
      ledger_.violated("liveness", first.messageId +
                                       " waits in the inbox: " + (explanation ? explanation->sentence : std::string()));
    }
  }

  // An agent with a restored file waits for its owner's decision, after a report that gives the reason.
  [[nodiscard]] bool mayWait(const std::string& agent, const Stats& stats) const {
    return common_.disowned.contains(agent) && stats.inbox == 0;
  }

  [[nodiscard]] static bool isIdle(const Stats& stats) {
    return stats.pending + stats.sending + stats.sent + stats.inbox == 0;
  }

  // Looks for other processes' commits, fifty times a second in each of them, are most of what a world costs that waits
  // for hours.
  void beginAnew() {
    common_.patient = true;
    for (const std::string& name : processes_) {
      simulation_.kill(name);
    }
  }

  void livenessPhase() {
    const auto begin = simulation_.now();
    const auto end = begin + kHealPhase;
    // A world that is broken need not come to rest, and may never do.
    while (simulation_.now() < end && report_.steps < kStepsMax && ledger_.violations.empty()) {
      run(1s);
      if (!common_.patient && simulation_.now() - begin > kHurry) {
        beginAnew();
      }
      // A planned death at the disk may come only now.
      keepRunning();
      bool idle = true;
      for (const std::string& name : common_.names) {
        withAgent(name, [&](Agent& agent) {
          operators_.unblock(agent);
          const Stats stats = agent.outbox().getStats();
          idle = idle && (isIdle(stats) || mayWait(name, stats));
        });
        idle = idle && simulation_.running(name);
      }
      if (idle) {
        // Late duplicates are still on the way.
        run(1s + 11 * swarm_.network.delayMax + (common_.disowned.empty() ? 0s : 40s));
        keepRunning();
        return;
      }
    }
    complain();
  }

  void judge() {
    Judge judge(ledger_);
    for (const std::string& name : common_.names) {
      judge.readOutbox(name, agents_.at(name)->outbox());
      publications_.judge(name, agents_.at(name)->outbox());
      reach_.total(agents_.at(name)->outbox().getStats());
    }
    for (const std::string& name : processes_) {
      simulation_.kill(name);
    }
    for (const std::string& name : common_.names) {
      judge.readEffects(name, places_->effectsOf(name));
    }
    judge.readDeliveries(hands_);
    for (auto& [name, entry] : ledger_.entries) {
      // A sender with a restored file sends nothing, after a report of that.
      entry.mayStayUndone = entry.undone && (entry.mayStayUndone || common_.disowned.contains(entry.from));
    }
    judge.compare();
    report_.effects = judge.effects();
    report_.deadLetters = judge.deadLetters();
    report_.digest = judge.digest();
  }

  const WorldOptions options_;
  testing::TempDir dir_;
  const AgentFiles files_{dir_};
  const std::unique_ptr<Places> places_ = makePlaces(files_);
  Ledger ledger_;
  testing::Simulation simulation_;
  const Swarm swarm_;
  Reach reach_;
  Hands hands_;
  Attendance attendance_;
  Publications publications_;
  Hub hub_;
  Watch watch_;
  Common common_;
  Operators operators_;
  Readers readers_{common_, files_};
  std::vector<std::string> processes_;
  // To whom messages are said: agents, and those that have a mailbox.
  std::vector<std::string> addressees_;
  std::map<std::string, Agent*> agents_;
  std::map<std::string, std::vector<std::string>> processesOf_;
  // By how much each process's calendar was set forward.
  std::map<std::string, nanoseconds> aheadBy_;
  // When each agent's file was copied, if there is a copy.
  std::map<std::string, nanoseconds> copiedAt_;
  struct Lane {
    std::string from;
    std::string to;
    std::string session;
    /// The last message that was enqueued in it.
    std::string last;
  };

  struct Repetition {
    std::string name;
    std::string process;
    std::uint32_t attempts = 0;
    bool over = false;
  };
  std::vector<Repetition> repeated_;
  std::uint64_t said_ = 0;
  WorldReport report_;
};

}  // namespace

WorldReport runWorld(const WorldOptions& options) {
  return World(options).run();
}

}  // namespace ackbox::simulation
