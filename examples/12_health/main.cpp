// What to watch in production, and what to wake a person for: thresholds and `onHealth` in the agent, its log as JSON
// lines, and figures read from outside by a monitor.

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_operator.hpp>
#include <ackbox/outbox_reader.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>

#include "reserved_port.hpp"

namespace {

using namespace ackbox;

/// Appends each record to a file. Only `logToStandardError(LogFormat::json)` is shorter; both go with any collector.
class LogFile {
public:
  void operator()(const LogRecord& record) {
    const std::scoped_lock lock(mutex_);
    file_ << toJson(record) << std::endl;
    // Wake a person at once: nothing moves until somebody acts. Other warnings are worth a look in the morning, and
    // those that matter raise a health event of their own.
    const bool isUrgent = record.level == LogLevel::error || record.event == "peer-held" ||
                          record.event == "peer-disabled" || record.event == "peer-reset";
    alerts_ += isUrgent ? 1 : 0;
  }
  int alerts() {
    const std::scoped_lock lock(mutex_);
    return alerts_;
  }

private:
  std::mutex mutex_;  // Several threads may log at once.
  std::ofstream file_{"alice.log", std::ios::app};
  int alerts_ = 0;
};

/// What a monitor reads from outside, every minute or so; `ackbox stats FILE --json` prints the same. The file may be
/// read-only to it, and the agent need not run.
void inspect(const std::string& file) {
  const OutboxReader reader = OutboxReader::open(file);
  const Stats stats = reader.getStats();
  std::cout << "monitor: " << stats.pending + stats.sending << " undelivered, " << stats.failed << " dead letters, "
            << reader.processIds().size() << " process" << std::endl;  // None: the agent does not run.
  for (const PeerStatus& peer : reader.peers()) {
    std::cout << "monitor: " << peer.name << " is " << toString(peer.state) << std::endl;
  }
  // Also worth a graph: oldestPendingAge, enqueueToAck, walBytes, and the rate of staleSettles. Never zero for long
  // without a reason: refusedUnauthenticated, refusedForbidden, refusedLimits, refusedAcks, staleEpochs.
}

}  // namespace

int main() {
  const ReservedPort bobPort;
  const auto log = std::make_shared<LogFile>();
  OutboxOptions options{.agent = "urn:agent:alice", .peers = {{.name = "bob", .url = bobPort.url()}}};
  options.log = [log](const LogRecord& record) { (*log)(record); };
  options.peerHealth.probeDelays = {std::chrono::milliseconds(20)};
  // All are off by default, because what is much depends on the agent.
  options.health.failed = 1;                                    // The first dead letter.
  options.health.pending = 5;                                   // In production a share of `maxPending`.
  options.health.oldestAge = std::chrono::hours(1);             // Longer than an ordinary outage of a peer.
  options.health.peerDownFor = std::chrono::milliseconds(100);  // In production some minutes.
  auto alice = OutboxManager::open("alice.db", options);
  alice.setSender(std::make_shared<HttpSender>());
  std::counting_semaphore<> changes(0);
  const Subscription health = alice.onHealth([&](const HealthEvent& event) {
    std::cout << (event.raised ? "ALERT " : "ok    ") << toString(event.check) << std::endl;
    changes.release();
  });
  alice.start();

  // The peer is away: messages wait, and an outage charges none of them.
  alice.enqueue({.peer = "bob", .type = "order.placed", .data = "1"});
  changes.acquire();  // peerDown
  for (int order = 2; order <= 5; ++order) {
    alice.enqueue({.peer = "bob", .type = "order.placed", .data = std::to_string(order)});
  }
  changes.acquire();  // pending
  inspect("alice.db");

  // It is back.
  auto bob = OutboxManager::open("bob.db", {.agent = "urn:agent:bob"});
  const auto handle = [](const InboundFrame& frame, InboundTransaction&) {
    return frame.data == "6" ? HandlerResult::reject("no such item", "no-such-item") : HandlerResult::ack();
  };
  InboundHandler handler(bob, handle, {.allowAnonymous = true});
  const InboundServer server(handler, {.port = bobPort.number()});
  changes.acquire();  // peerDown is well again.
  changes.acquire();  // pending, too.
  alice.enqueue({.peer = "bob", .type = "order.placed", .data = "6"});
  changes.acquire();  // failed
  OutboxOperator(alice).discardFailed({.reason = "no-such-item"});
  changes.acquire();  // failed is well again.
  alice.stop();
  inspect("alice.db");
  std::cout << log->alerts() << " urgent records in the log" << std::endl;
  return log->alerts() == 0 && alice.getStats().acked == 5 ? 0 : 1;
}
