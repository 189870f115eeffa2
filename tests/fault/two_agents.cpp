#include "two_agents.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/sender.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/wire.hpp"

namespace ackbox::testing {
namespace {

// More rounds of delivery than any run here needs.
constexpr int kHealingRoundsMax = 40;
// More turns than two healthy machines need at one instant.
constexpr int kTurnsMax = 10'000;

SendReport lost() {
  SendReport report;
  report.outcome = RequestOutcome::connectionLost;
  return report;
}

}  // namespace

/// Carries the protocol's own bytes to the other side's handler.
class TwoAgents::Wire final : public Sender {
public:
  Wire(TwoAgents& agents, Side to) : agents_(agents), to_(to) {}

  void asyncSend(SendRequest request, SendHandler handler) override {
    Machine& machine = agents_.machines_[to_];
    if (!machine.inbound) {
      handler(SendReport());
      return;
    }
    const std::string delivery = "delivery-" + std::to_string(++deliveries_);
    const protocol::EncodedRequest encoded = protocol::encodeRequest(request, delivery);
    InboundRequest arriving{encoded.contentType, encoded.body, encoded.webhookId};
    arriving.certificateAgents = {request.agent};
    protocol::InboundPort::of(*machine.inbound)
        .handle(
            std::move(arriving),
            [sent = std::move(request), delivery, handler = std::move(handler),
             loses = agents_.losesAnswers](const InboundResponse& response) {
              handler(loses ? lost()
                            : protocol::readAnswer(sent, delivery, response.status, response.contentType, "",
                                                   response.body));
            },
            protocol::HandlerThread::caller, protocol::RequestForm::cloudEvents);
    // A pass waits only for this answer; a run goes on meanwhile.
    if (!agents_.started) {
      agents_.turn(to_);
    }
  }

private:
  TwoAgents& agents_;
  const Side to_;
  std::uint64_t deliveries_ = 0;
};

TwoAgents::TwoAgents(const TempDir& folder, Durability durability, std::array<DiskFiles, 2> files,
                     const std::shared_ptr<DiskRecord>& record)
    : folder_(folder), durability_(durability) {
  for (const Side side : kSides) {
    machines_[side].disk = std::make_unique<MemoryDisk>(std::move(files[side]), record, side);
  }
}

TwoAgents::~TwoAgents() {
  for (const Side side : kSides) {
    close(side);
  }
}

std::string TwoAgents::path(const TempDir& folder, Side side) {
  return folder.file(side == alice ? "alice.db" : "bob.db").string();
}

OutboxOptions TwoAgents::options(Side side) {
  OutboxOptions made;
  made.agent = side == alice ? "urn:agent:alice" : "urn:agent:bob";
  if (side == alice) {
    made.peers = {{.name = kBob, .agent = "urn:agent:bob"}, {.name = kBox, .agent = made.agent}};
  } else {
    PeerOptions peer;
    peer.agent = "urn:agent:alice";
    made.peers.push_back(peer);
  }
  made.durability = durability_;
  made.vfs = machines_[side].disk->name();
  made.clock = clock;
  made.random = seededRandom(7 + side);
  made.storeExecutor = [&context = machines_[side].context](std::function<void()> work) {
    boost::asio::post(context, std::move(work));
  };
  made.checkpointPages = checkpointPages;
  return made;
}

void TwoAgents::open(Side side) {
  Machine& machine = machines_[side];
  machine.manager.emplace(OutboxManager::open(path(folder_, side), options(side)));
  machine.manager->setSender(std::make_shared<Wire>(*this, side == alice ? bob : alice));
  machine.inbound.emplace(
      *machine.manager,
      [this, side](const InboundFrame& frame, InboundTransaction& transaction) {
        return take(side, frame, transaction);
      },
      inboundOptions(side));
  if (started) {
    machine.manager->start();
  }
}

void TwoAgents::close(Side side) {
  if (side == bob) {
    mailbox_.end();
    turn(bob);
  }
  // Posted work may still refer to the handler.
  machines_[side].inbound.reset();
  turn(side);
  if (started && machines_[side].manager) {
    machines_[side].manager->stop();
    turnBoth();
  }
  machines_[side].manager.reset();
  turn(side);
}

bool TwoAgents::turn(Side side) {
  machines_[side].context.restart();
  return machines_[side].context.poll() > 0;
}

void TwoAgents::turnBoth() {
  for (int turns = 0; turns < kTurnsMax; ++turns) {
    const bool any = turn(alice);
    if (!turn(bob) && !any) {
      return;
    }
  }
}

void TwoAgents::deliver(Side side) {
  if (started) {
    turnBoth();
  } else {
    manager(side).drainOnce();
  }
}

void TwoAgents::subscribe() {
  for (const char* const peer : {kBob, kBox}) {
    OutboxOperator(manager(alice)).subscribe({.name = peer, .peer = peer});
  }
}

void TwoAgents::fetch() {
  mailbox_.fetch(*machines_[alice].inbound, losesAnswers, [this] {
    turn(bob);
    turn(alice);
  });
}

InboundOptions TwoAgents::inboundOptions(Side side) {
  InboundOptions made;
  made.peers = {{.agents = {"urn:agent:alice", "urn:agent:bob"},
                 .byCertificate = true,
                 .byMailbox = side == alice,
                 .mailboxes = {"urn:agent:alice"}}};
  if (side == bob) {
    made.deferred.mailboxes = mailbox_.hub();
  }
  made.deferred.pools = {{{"slow-reject"}, 1}};
  made.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(machines_[side].context.get_executor());
  made.deferred.handler = [this, side](DeferredFrame frame) {
    if (!frame.frame().mailbox.empty()) {
      mailbox_.take(std::move(frame));
      return;
    }
    frame.commit(
        [this, side, frame](InboundTransaction& transaction) { return effect(side, frame.frame(), transaction); });
  };
  return made;
}

HandlerResult TwoAgents::take(Side side, const InboundFrame& frame, InboundTransaction& transaction) const {
  return frame.type.starts_with("slow") ? HandlerResult::defer() : effect(side, frame, transaction);
}

HandlerResult TwoAgents::effect(Side side, const InboundFrame& frame, InboundTransaction& transaction) const {
  SQLite::Database& database = transaction.database();
  database.exec(
      "CREATE TABLE IF NOT EXISTS effects(id INTEGER PRIMARY KEY, message_id TEXT, origin TEXT, session TEXT, "
      "sequence INTEGER, data TEXT)");
  SQLite::Statement insert(database, "INSERT INTO effects(message_id,origin,session,sequence,data) VALUES(?,?,?,?,?)");
  insert.bind(1, frame.id);
  insert.bind(2, frame.origin);
  insert.bind(3, frame.session);
  insert.bind(4, static_cast<std::int64_t>(frame.sequence));
  insert.bind(5, frame.data);
  insert.exec();
  if (side == bob) {
    Frame reply;
    reply.id = "re-" + frame.id;
    reply.session = frame.session;
    reply.type = "reply";
    reply.data = frame.data;
    transaction.enqueue(reply);
    if (busy) {
      return HandlerResult::notNow("busy");
    }
    if (frame.type.ends_with("reject") && !merciful) {
      return HandlerResult::reject("no");
    }
  }
  return HandlerResult::ack();
}

bool TwoAgents::heal() {
  busy = false;
  merciful = true;
  losesAnswers = false;
  for (int round = 0; round < kHealingRoundsMax; ++round) {
    clock->advance(std::chrono::minutes(2));
    std::uint64_t left = 0;
    for (const Side side : kSides) {
      turn(side);
      OutboxOperator(manager(side)).retryFailed({});
      deliver(side);
    }
    fetch();
    for (const Side side : kSides) {
      const Stats stats = manager(side).getStats();
      left += stats.pending + stats.sending + stats.sent + stats.failed + stats.inbox;
    }
    if (left == 0) {
      return true;
    }
  }
  return false;
}

std::vector<TwoAgents::Effect> TwoAgents::effects(Side side) {
  SQLite::Database database(path(folder_, side), SQLite::OPEN_READWRITE, 0, disk(side).name());
  std::vector<Effect> found;
  if (!database.tableExists("effects")) {
    return found;
  }
  SQLite::Statement query(database, "SELECT message_id,origin,session,sequence,data FROM effects ORDER BY id");
  while (query.executeStep()) {
    found.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(), query.getColumn(2).getString(),
                     static_cast<std::uint64_t>(query.getColumn(3).getInt64()), query.getColumn(4).getString()});
  }
  return found;
}

std::string TwoAgents::integrity(Side side) {
  SQLite::Database database(path(folder_, side), SQLite::OPEN_READWRITE, 0, disk(side).name());
  return database.execAndGet("PRAGMA integrity_check").getString();
}

}  // namespace ackbox::testing
