#include "crash_world.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "effects.hpp"
#include "fed_frame.hpp"
#include "free_port.hpp"
#include "hardships.hpp"
#include "integration/test_certificates.hpp"

namespace crash {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

std::vector<main_job::Entry> fedInto(const std::filesystem::path& database) {
  const SQLite::Database connection(database.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(connection, "SELECT coalesce(max(reached), 0) FROM fed");
  row.executeStep();
  const std::int64_t reached = row.getColumn(0).getInt64();
  std::vector<main_job::Entry> entries;
  for (std::int64_t number = 1; number <= reached; ++number) {
    entries.push_back(fedFrame(number));
  }
  return entries;
}

// The keys by which the agents recognise each other.
void writeKeys(const std::filesystem::path& folder) {
  const ackbox::testing::TestAuthority authority(folder, "authority");
  for (const char* name : {"alice", "bob"}) {
    ackbox::testing::CertificateFacts facts;
    facts.names.push_back(std::string("URI:urn:agent:") + name);
    // Longer than any campaign.
    facts.validUntil = 30L * 24 * 3600;
    (void)authority.issue(name, facts);
  }
  std::ofstream(folder / "secret") << "whsec_YWxpY2UgYW5kIGJvYiBrZWVwIHRoaXMgdG8gdGhlbXM=\n";
}

ackbox::OutboxManager openOutbox(const std::filesystem::path& database) {
  ackbox::OutboxOptions options;
  options.createSchema = false;
  return ackbox::OutboxManager::open(database, options);
}

}  // namespace

CrashWorld::CrashWorld(std::uint64_t seed, const std::vector<std::string>& bobExtra,
                       const std::vector<std::string>& extra)
    : random_(seed) {
  const std::uint16_t alicePort = main_job::freePort(random_);
  std::uint16_t bobPort = main_job::freePort(random_);
  while (bobPort == alicePort) {
    bobPort = main_job::freePort(random_);
  }
  const std::filesystem::path keys = directory_.file("keys");
  std::filesystem::create_directory(keys);
  writeKeys(keys);
  const auto prepare = [&](Agent& agent, const std::string& name, const std::string& peer, std::uint16_t port,
                           std::uint16_t peerPort) {
    agent.name = name;
    agent.database = directory_.file(name + ".db");
    agent.arguments = {name,
                       peer,
                       agent.database.string(),
                       std::to_string(port),
                       "https://127.0.0.1:" + std::to_string(peerPort) + "/inbox",
                       keys.string()};
    agent.arguments.insert(agent.arguments.end(), extra.begin(), extra.end());
  };
  prepare(alice_, "alice", "bob", alicePort, bobPort);
  prepare(bob_, "bob", "alice", bobPort, alicePort);
  bob_.arguments.emplace_back("--reply");
  bob_.arguments.insert(bob_.arguments.end(), bobExtra.begin(), bobExtra.end());
  for (Agent* agent : {&bob_, &alice_}) {
    launch(*agent, true);
    awaitReady(*agent);
  }
}

void CrashWorld::launch(Agent& agent, bool feeds) {
  std::vector<std::string> arguments = agent.arguments;
  if (feeds && &agent == &alice_) {
    arguments.emplace_back("--feed");
  }
  agent.process.emplace(AGENT_PROGRAM, arguments);
}

void CrashWorld::awaitReady(Agent& agent) {
  if (!agent.process->readLine(kPatience)) {
    throw std::runtime_error(agent.name + " did not come up");
  }
}

void CrashWorld::killAfterUpTo(Agent& agent, milliseconds longest) {
  std::uniform_int_distribution<std::int64_t> draw(0, std::chrono::microseconds(longest).count());
  if (agent.process->endsWithin(std::chrono::microseconds(draw(random_)))) {
    throw std::runtime_error(agent.name + " ended by itself; its standard error is above");
  }
  agent.process->kill();
  ++agent.kills;
}

void CrashWorld::killAbout(std::uint64_t kills, milliseconds longest) {
  const std::uint64_t until = alice_.kills + bob_.kills + kills;
  while (alice_.kills + bob_.kills < until) {
    // One kill in five kills both agents at once.
    const std::uint64_t draw = random_() % 5;
    std::vector<Agent*> victims;
    if (draw != 1 && draw != 2) {
      victims.push_back(&alice_);
    }
    if (draw != 3 && draw != 4) {
      victims.push_back(&bob_);
    }
    milliseconds next = longest;
    for (Agent* victim : victims) {
      killAfterUpTo(*victim, std::exchange(next, milliseconds(0)));
    }
    for (Agent* victim : victims) {
      launch(*victim, true);
      if (random_() % 8 == 0) {
        killAfterUpTo(*victim, milliseconds(20));
        launch(*victim, true);
      }
    }
    for (Agent* victim : victims) {
      awaitReady(*victim);
    }
  }
}

void CrashWorld::endure(Hardships& left, Suffered& suffered, milliseconds longest) {
  const std::uint64_t draw = random_() % left.all();
  const bool isPause = draw < left.pauses;
  const bool isStarvation = !isPause && draw < left.pauses + left.starvations;
  std::vector<Agent*> victims;
  for (Agent* agent : {&alice_, &bob_}) {
    if (victims.empty() ? agent == &bob_ || random_() % 3 != 0 : random_() % 2 == 0) {
      victims.push_back(agent);
    }
  }
  // The hardships of the victims; each ends when its object goes out of scope.
  std::vector<std::unique_ptr<Stopped>> stopped;
  std::unique_ptr<Starved> starved;
  std::unique_ptr<SlowDisk> slow;
  if (isPause) {
    --left.pauses;
    ++suffered.pauses;
    for (const Agent* victim : victims) {
      stopped.push_back(std::make_unique<Stopped>(victim->process->id()));
    }
  } else if (isStarvation) {
    --left.starvations;
    ++suffered.starvations;
    starved = std::make_unique<Starved>(victims.front()->process->id());
  } else {
    --left.slowDisks;
    ++suffered.slowDisks;
    slow = std::make_unique<SlowDisk>(victims.front()->database);
  }
  std::uniform_int_distribution<std::int64_t> time(1, longest.count());
  if (victims.front()->process->endsWithin(milliseconds(time(random_)))) {
    throw std::runtime_error(victims.front()->name + " ended by itself; its standard error is above");
  }
  if (isPause && victims.size() == 1 && random_() % 8 == 0) {
    Agent& other = victims.front() == &alice_ ? bob_ : alice_;
    killAfterUpTo(other, milliseconds(20));
    ++suffered.kills;
    launch(other, true);
    awaitReady(other);
  }
}

// The announced wait is read when the hardship is over, as the agents could not keep to it before.
void CrashWorld::awaitFlow(Suffered& suffered) {
  constexpr std::chrono::seconds kForTheMachine{20};
  const ackbox::OutboxReader outbox = ackbox::OutboxReader::open(alice_.database);
  const std::uint64_t before = outbox.getStats().acked;
  const auto begin = steady_clock::now();
  auto announced = begin;
  for (const ackbox::PeerStatus& peer : outbox.peers()) {
    const auto wait = peer.nextProbeAt.time_since_epoch() - std::chrono::system_clock::now().time_since_epoch();
    announced = std::max(announced, begin + std::chrono::duration_cast<milliseconds>(wait));
  }
  while (outbox.getStats().acked == before) {
    if (alice_.process->endsWithin(milliseconds(2)) || !bob_.process->alive()) {
      throw std::runtime_error("an agent ended by itself; its standard error is above");
    }
    if (steady_clock::now() > announced + kForTheMachine) {
      throw std::runtime_error("after " + std::to_string(suffered.all()) + " hardships nothing flows any more");
    }
  }
  const auto end = steady_clock::now();
  suffered.longestWait = std::max(suffered.longestWait, std::chrono::duration_cast<milliseconds>(end - begin));
  suffered.longestBeyond = std::max(suffered.longestBeyond, std::chrono::duration_cast<milliseconds>(end - announced));
}

Suffered CrashWorld::suffer(Hardships planned, milliseconds longest) {
  Suffered suffered;
  awaitFlow(suffered);
  while (planned.all() > 0) {
    endure(planned, suffered, longest);
    awaitFlow(suffered);
  }
  return suffered;
}

void CrashWorld::awaitDrained(Agent& agent) {
  const ackbox::OutboxManager outbox = openOutbox(agent.database);
  const auto deadline = steady_clock::now() + kPatience;
  for (ackbox::Stats stats = outbox.getStats(); stats.pending + stats.sending + stats.sent > 0;
       stats = outbox.getStats()) {
    if (steady_clock::now() > deadline) {
      throw std::runtime_error(agent.name + "'s outbox did not drain: pending " + std::to_string(stats.pending) +
                               ", sending " + std::to_string(stats.sending) + ", sent " + std::to_string(stats.sent));
    }
    if (agent.process->endsWithin(milliseconds(5))) {
      throw std::runtime_error(agent.name + " ended before its outbox had drained");
    }
  }
}

void CrashWorld::end(Agent& agent) {
  if (const int status = agent.process->terminate(kPatience); status != 0) {
    throw std::runtime_error(agent.name + " ended with status " + std::to_string(status));
  }
}

// On a busy machine few frames fit between the kills, and one in ten is answered.
void CrashWorld::awaitEnough() {
  constexpr std::uint64_t kEnough = 100;
  const ackbox::OutboxManager outbox = openOutbox(alice_.database);
  const auto deadline = steady_clock::now() + kPatience;
  while (outbox.getStats().enqueued < kEnough) {
    if (steady_clock::now() > deadline || alice_.process->endsWithin(milliseconds(5))) {
      throw std::runtime_error("alice did not go on enqueueing");
    }
  }
}

Outcome CrashWorld::settle() {
  awaitEnough();
  // No more frames: alice's last life only delivers.
  killAfterUpTo(alice_, milliseconds(60));
  launch(alice_, false);
  awaitReady(alice_);
  awaitDrained(alice_);
  awaitDrained(bob_);
  end(alice_);
  end(bob_);

  const std::vector<main_job::Entry> fed = fedInto(alice_.database);
  const ackbox::Stats alice = openOutbox(alice_.database).getStats();
  const ackbox::Stats bob = openOutbox(bob_.database).getStats();
  Outcome outcome;
  outcome.killsOfAlice = alice_.kills;
  outcome.killsOfBob = bob_.kills;
  outcome.frames = {main_job::compare(fed, main_job::readEffects(bob_.database)), alice, bob};
  outcome.replies = {main_job::compare(main_job::repliesTo(fed), main_job::readEffects(alice_.database)), bob, alice};
  return outcome;
}

}  // namespace crash
