#include "simulation/agent.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <stdexcept>
#include <utility>

namespace ackbox::simulation {
namespace {

OutboxOptions optionsOf(const Common& common, const std::string& name) {
  OutboxOptions options = common.swarm.outbox;
  options.agent = "urn:sim:" + name;
  for (const std::string& other : common.names) {
    PeerOptions peer;
    peer.name = other;
    peer.url = "sim://" + other;
    peer.agent = "urn:sim:" + other;
    options.peers.push_back(std::move(peer));
  }
  return options;
}

std::string agentOfUri(const std::string& uri) {
  return uri.substr(std::string("urn:sim:").size());
}

}  // namespace

Agent::Agent(testing::SimulatedProcess& process, Common& common, std::string name, const std::filesystem::path& file,
             bool listens)
    : process_(process),
      common_(common),
      name_(std::move(name)),
      manager_(OutboxManager::open(file, process.options(optionsOf(common, name_)))) {
  manager_.setSender(process.sender());
  acked_ = manager_.onAcked(
      [&ledger = common_.ledger](const AckedEvent& event) { ledger.entries[event.messageId].acked = true; });
  // Kills and power cuts take no memory that was promised.
  reset_ = manager_.onPeerReset([&ledger = common_.ledger](const PeerResetEvent& event) {
    ledger.violated("P3", event.peer + " is said to be " + std::string(toString(event.kind)) + " in session '" +
                              event.session + "': " + std::to_string(event.expected) + " against " +
                              std::to_string(event.accepted));
  });
  failed_ = manager_.onFailed([&ledger = common_.ledger](const FailedEvent& event) {
    const Entry& entry = ledger.entries[event.messageId];
    const bool fair = (event.reason == "rejected" && entry.rejected) ||
                      (event.reason == "retry-budget" && entry.refusedForNow) || event.reason == "peer-killer";
    if (!fair) {
      ledger.violated("P8", event.messageId + " failed as " + event.reason + ": " + event.error);
    }
  });
  if (listens) {
    inbox_.emplace(
        manager_,
        [this](const InboundFrame& frame, InboundTransaction& transaction) { return handle(frame, transaction); },
        InboundOptions{.allowAnonymous = true});
    process.listen(*inbox_);
  }
  manager_.runThen(process.executor(), [](const std::error_code&) {});
}

void Agent::say(const std::string& id, const std::string& to, const std::string& session) {
  Frame frame;
  frame.peer = to;
  frame.session = session;
  frame.type = "sim.said";
  frame.data = "{\"id\":\"" + id + "\"}";
  frame.id = id;
  Entry& entry = common_.ledger.entries[id];
  entry.from = name_;
  entry.to = to;
  entry.session = session;
  manager_.enqueueThen(frame,
                       [&ledger = common_.ledger, id](const std::error_code& error, const EnqueueReceipt& receipt) {
                         if (!error && receipt.accepted()) {
                           ledger.entries[id].confirmed = true;
                           ledger.entries[id].sequence = receipt.sequence;
                         }
                       });
}

HandlerResult Agent::handle(const InboundFrame& frame, InboundTransaction& transaction) {
  const Swarm& swarm = common_.swarm;
  Random& random = process_.random();
  Entry& entry = common_.ledger.entries[frame.id];
  if (entry.to != name_) {
    common_.ledger.violated("P11", frame.id + " for " + entry.to + " reached " + name_);
  }
  const bool faulty = !common_.healed;
  if (faulty && drawChance(random, swarm.suicide)) {
    common_.simulation.killAtWrite(name_, drawBelow(random, 4));
  }
  if (faulty && drawChance(random, swarm.notNow)) {
    entry.refusedForNow = true;
    return HandlerResult::notNow("busy");
  }
  SQLite::Database& database = transaction.database();
  if (common_.canary) {
    late_.push_back({frame.id, frame.origin, frame.session, frame.sequence});
    if (late_.size() > 5 || common_.healed) {
      writeEffects(database);
    }
    return HandlerResult::ack();
  }
  SQLite::Statement effect(database, "INSERT INTO effects(id,origin,session,sequence) VALUES(?,?,?,?)");
  effect.bind(1, frame.id);
  effect.bind(2, frame.origin);
  effect.bind(3, frame.session);
  effect.bind(4, static_cast<std::int64_t>(frame.sequence));
  effect.exec();
  if (frame.type == "sim.said" && drawChance(random, swarm.replies)) {
    Frame reply;
    reply.peer = agentOfUri(frame.source);
    reply.session = "replies";
    reply.type = "sim.replied";
    reply.id = "re-" + frame.id;
    Entry& replied = common_.ledger.entries[reply.id];
    replied.from = name_;
    replied.to = reply.peer;
    replied.session = reply.session;
    replied.answers = frame.id;
    transaction.enqueue(reply);
  }
  // After the writes, which must be undone.
  if (faulty && drawChance(random, swarm.rejected)) {
    entry.rejected = true;
    return HandlerResult::reject("never");
  }
  if (faulty && drawChance(random, swarm.thrown)) {
    entry.refusedForNow = true;
    throw std::runtime_error("a handler's defect");
  }
  return HandlerResult::ack();
}

void Agent::writeEffects(SQLite::Database& database) {
  for (const Effect& late : std::exchange(late_, {})) {
    SQLite::Statement effect(database, "INSERT INTO effects(id,origin,session,sequence) VALUES(?,?,?,?)");
    effect.bind(1, late.id);
    effect.bind(2, late.origin);
    effect.bind(3, late.session);
    effect.bind(4, static_cast<std::int64_t>(late.sequence));
    effect.exec();
  }
}

}  // namespace ackbox::simulation
