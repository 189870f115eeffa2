#include "run.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "effects.hpp"
#include "free_port.hpp"
#include "input.hpp"

namespace main_job {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Without an effect for so long, something is wrong.
constexpr std::chrono::seconds kPatience{60};
// For an agent to come up, and to end when asked.
constexpr std::chrono::seconds kAgentPatience{20};
// What one kill takes on average: the pause before it, and the restart.
constexpr std::uint64_t kKillEveryMilliseconds = 200;
// Transactions that the input is enqueued in, about.
constexpr std::uint64_t kSlices = 1'500;

volatile std::sig_atomic_t interrupted = 0;

void throwIfInterrupted() {
  if (interrupted != 0) {
    throw std::runtime_error("interrupted");
  }
}

std::string lastWords(const std::filesystem::path& log) {
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  const std::string all = text.str();
  constexpr std::size_t kTail = 2'000;
  return all.empty() ? "  (nothing)\n" : all.substr(all.size() - std::min(all.size(), kTail));
}

std::string inboxUrl(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port) + "/inbox";
}

ackbox::OutboxManager openOutbox(const std::string& name, const std::filesystem::path& database) {
  ackbox::OutboxOptions options;
  options.agent = "urn:agent:" + name;
  options.createSchema = false;
  return ackbox::OutboxManager::open(database, options);
}

}  // namespace

Run::Run(RunSettings settings) : settings_(std::move(settings)), random_(settings_.seed) {
  readInputs();
  prepareAgents();
}

void Run::interrupt() noexcept {
  interrupted = 1;
}

void Run::readInputs() {
  for (const std::filesystem::path& path : settings_.inputs) {
    InputFile file(path);
    while (const auto line = file.next()) {
      if (line->frame) {
        putIn_.push_back({line->frame->session, line->frame->data, {}});
      } else if (!line->problem.empty()) {
        ++malformed_;
        std::cerr << "skipped " << complaint(file, *line) << '\n';
      }
    }
  }
  if (putIn_.empty()) {
    throw std::runtime_error("no frame in the input; a line looks like {\"session\":\"a\",\"type\":\"b\",\"data\":1}");
  }
  expectedReplies_ = repliesTo(putIn_);
}

void Run::prepareAgents() {
  const std::uint16_t alicePort = freePort(random_);
  std::uint16_t bobPort = freePort(random_);
  while (bobPort == alicePort) {
    bobPort = freePort(random_);
  }
  const auto prepare = [&](Agent& agent, std::string name, std::uint16_t port, std::uint16_t peerPort) {
    agent.name = std::move(name);
    agent.database = settings_.directory / (agent.name + ".db");
    agent.log = settings_.directory / (agent.name + ".log");
    agent.arguments = {agent.name,           "--database", agent.database.string(), "--listen",
                       std::to_string(port), "--peer-url", inboxUrl(peerPort)};
  };
  prepare(alice_, "alice", alicePort, bobPort);
  prepare(bob_, "bob", bobPort, alicePort);
  // Slow enough for the input to last as long as the killing.
  const std::uint64_t frames = putIn_.size();
  const std::uint64_t sliceLines = std::max<std::uint64_t>(1, frames / kSlices);
  const std::uint64_t paceMilliseconds = kKillEveryMilliseconds * (settings_.kills + 1ULL) * sliceLines / frames;
  alice_.arguments.insert(alice_.arguments.end(),
                          {"--pace-ms", std::to_string(paceMilliseconds), "--slice-lines", std::to_string(sliceLines)});
  for (const std::filesystem::path& input : settings_.inputs) {
    alice_.arguments.insert(alice_.arguments.end(), {"--input", input.string()});
  }
}

Report Run::carryOut() {
  start(bob_);
  start(alice_);
  killOften();
  awaitEffects();
  awaitDrained();
  endGracefully(alice_);
  endGracefully(bob_);
  return account();
}

void Run::start(Agent& agent) {
  agent.process.emplace(settings_.agent, agent.arguments, agent.log);
  if (!agent.process->readLine(kAgentPatience)) {
    throwIfInterrupted();
    throw std::runtime_error(agent.name + " did not start (" + settings_.agent.string() + "); it said:\n" +
                             lastWords(agent.log));
  }
}

// As many of each, in random order.
void Run::killOften() {
  std::vector<Agent*> victims;
  for (std::uint32_t count = 0; count < settings_.kills; ++count) {
    victims.push_back(count % 2 == 0 ? &alice_ : &bob_);
  }
  std::shuffle(victims.begin(), victims.end(), random_);
  std::uniform_int_distribution<int> soonMilliseconds(0, 60);
  std::uniform_int_distribution<int> laterMilliseconds(60, 500);
  for (Agent* victim : victims) {
    // Half of them while the agents are still busy with the consequences of the last one.
    pause(steady_clock::now() +
          milliseconds(random_() % 2 == 0 ? soonMilliseconds(random_) : laterMilliseconds(random_)));
    victim->process->kill();
    ++victim->kills;
    start(*victim);
  }
}

void Run::pause(steady_clock::time_point until) {
  do {
    watch();
    const auto left = std::chrono::ceil<std::chrono::microseconds>(until - steady_clock::now());
    bob_.process->endsWithin(std::clamp<std::chrono::microseconds>(left, milliseconds(0), milliseconds(50)));
  } while (steady_clock::now() < until);
}

// Shows the progress; throws when an agent ended by itself, or when nothing moves any more.
void Run::watch() {
  throwIfInterrupted();
  for (Agent* agent : {&alice_, &bob_}) {
    if (!agent->process->alive()) {
      throw std::runtime_error(agent->name + " ended by itself; it said:\n" + lastWords(agent->log));
    }
  }
  const std::uint64_t effects = countEffects(bob_.database);
  const std::uint64_t replies = countEffects(alice_.database);
  std::ostringstream line;
  line << "SIGKILLs " << alice_.kills + bob_.kills << '/' << settings_.kills << "  effects " << effects << '/'
       << putIn_.size() << "  replies " << replies << '/' << expectedReplies_.size();
  progress_.show(line.str());
  if (effects + replies != moved_) {
    moved_ = effects + replies;
    movedAt_ = steady_clock::now();
  } else if (steady_clock::now() - movedAt_ > kPatience) {
    throw std::runtime_error("nothing moved for 60 s (" + line.str() + ")\nalice said:\n" + lastWords(alice_.log) +
                             "bob said:\n" + lastWords(bob_.log));
  }
}

void Run::awaitEffects() {
  while (countEffects(bob_.database) < putIn_.size() || countEffects(alice_.database) < expectedReplies_.size()) {
    pause(steady_clock::now() + milliseconds(20));
  }
}

// The last acknowledgements may still be on their way. An agent's health may be asked for by another process.
void Run::awaitDrained() {
  movedAt_ = steady_clock::now();
  for (const Agent* agent : {&alice_, &bob_}) {
    const ackbox::OutboxManager outbox = openOutbox(agent->name, agent->database);
    for (ackbox::Stats stats = outbox.getStats(); stats.pending + stats.sending + stats.sent > 0;
         stats = outbox.getStats()) {
      pause(steady_clock::now() + milliseconds(10));
    }
  }
}

void Run::endGracefully(Agent& agent) {
  if (const int status = agent.process->terminate(kAgentPatience); status != 0) {
    throw std::runtime_error(agent.name + " did not end well on SIGTERM (status " + std::to_string(status) +
                             "); it said:\n" + lastWords(agent.log));
  }
}

Report Run::account() const {
  Report report;
  report.seed = settings_.seed;
  report.killsOfAlice = alice_.kills;
  report.killsOfBob = bob_.kills;
  report.malformedLines = malformed_;
  report.seconds = std::chrono::duration<double>(steady_clock::now() - begunAt_).count();
  const ackbox::Stats alice = openOutbox(alice_.name, alice_.database).getStats();
  const ackbox::Stats bob = openOutbox(bob_.name, bob_.database).getStats();
  report.frames = {compare(putIn_, readEffects(bob_.database)), alice, bob};
  report.replies = {compare(expectedReplies_, readEffects(alice_.database)), bob, alice};
  return report;
}

}  // namespace main_job
