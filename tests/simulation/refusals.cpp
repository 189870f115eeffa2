// Goal: no message waits behind one that its peer refuses, whatever the status and the number of refused ones; and if
// the peer refuses all messages, none is charged for it (P8, P12).
// Method: one agent with a real store and machine on virtual time, and a peer that refuses by message or by time. "An
// innocent message waits behind a refused one for longer than N probes" is a fault, where N is the number of different
// messages refused since the last accepted one: each may be sent once, as a refusal says no more than that, and none
// again while another message waits that has not been sent.

#include "simulation/refusals.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/testing/simulation.hpp"
#include "protocol/wire.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::simulation {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr auto kRoundTrip = 5ms;
// From the last enqueue until the peer accepts everything, and from then until all messages must have ended.
constexpr nanoseconds kRefusingPhase = 5min;
constexpr nanoseconds kMendedPhase = 1h;
// In turn, all messages are refused for this long, and accepted for this long.
constexpr nanoseconds kSpell = 20s;
// The longest wait of an innocent message at a peer that refuses others. Not applied if the refusals mean overload,
// which requires pauses.
constexpr nanoseconds kInnocentWaits = 15s;
// The time until a commit is seen.
constexpr nanoseconds kSeen = 50ms;

struct Said {
  bool isBad = false;
  std::string session;
  nanoseconds enqueuedAt{0};
  bool isUnderWay = false;
  bool isOver = false;
  /// When the message became its session's next, and the number of refusals by then.
  nanoseconds nextSince{0};
  std::uint32_t refusalsBefore = 0;
};

class Refusals {
public:
  explicit Refusals(const RefusalWorld& world) : world_(world), simulation_(world.seed) {
    simulation_.add("agent", [this](testing::SimulatedProcess& process) { return boot(process); });
    if (world.isTraced) {
      simulation_.startTrace(100'000);
    }
  }

  RefusalReport run() {
    simulation_.start("agent");
    while (said_.size() < world_.messages) {
      say();
      simulation_.runFor(world_.atOnce ? 0ms : 1'000ms);
    }
    simulation_.runFor(kRefusingPhase);
    // A 410 to the only message of a run disables the peer. And if all messages are refused by time, no message is
    // innocent of a status that is about the message.
    const bool hasInnocents = world_.byTime ? !isTheMessages() : world_.percent < 100;
    if (hasInnocents && world_.status != 410) {
      judgeInnocents();
    }
    isMended_ = true;
    OutboxOperator(*agent_->manager).resume("peer");
    simulation_.runUntil(
        [this] { return std::ranges::all_of(said_, [](const auto& one) { return one.second.isOver; }); }, kMendedPhase);
    for (const auto& [id, one] : said_) {
      if (!one.isOver) {
        const auto explanation = agent_->manager->explain(id);
        violated("liveness", id + " waits: " + (explanation ? explanation->sentence : "it is unknown"));
      }
    }
    std::fputs(simulation_.trace().c_str(), stdout);
    return report_;
  }

private:
  class Endpoint;
  struct Agent {
    std::shared_ptr<OutboxManager> manager;
    Subscription acked;
    Subscription failed;
    Subscription retried;
  };

  std::shared_ptr<void> boot(testing::SimulatedProcess& process);

  void violated(const std::string& promise, const std::string& what) {
    if (report_.violations.size() < 5) {
      report_.violations.push_back(promise + ": " + what);
    }
  }

  void say() {
    Frame frame;
    frame.peer = "peer";
    frame.id = "m" + std::to_string(said_.size());
    frame.session = world_.inSessions ? "s" + std::to_string(said_.size() % 8) : "";
    frame.type = "sim.said";
    frame.data = "{}";
    Said& one = said_[frame.id];
    one.session = frame.session;
    one.isBad = simulation_.random().next() % 100 < world_.percent && !world_.byTime;
    one.enqueuedAt = simulation_.now();
    one.nextSince = simulation_.now();
    one.refusalsBefore = refusals_;
    if (!one.session.empty()) {
      order_[one.session].push_back(frame.id);
    }
    agent_->manager->enqueueThen(frame, [this](const std::error_code& error, const EnqueueReceipt&) {
      if (error) {
        violated("P1", error.message());
      }
    });
  }

  // With these statuses the peer says that they are about the message.
  [[nodiscard]] bool isTheMessages() const {
    return world_.status == 400 || world_.status == 413 || world_.status == 422;
  }
  [[nodiscard]] bool isOverload() const { return world_.status == 408 || world_.status == 425 || world_.status == 429; }
  [[nodiscard]] bool isRefusing() const { return world_.byTime && (simulation_.now() / kSpell) % 2 == 0; }
  [[nodiscard]] bool refuses(const SendRequest& request) const {
    return !isMended_ && (isRefusing() || std::ranges::any_of(request.frames, [this](const OutboundFrame& frame) {
                            const auto one = said_.find(frame.messageId);
                            return one != said_.end() && one->second.isBad;
                          }));
  }
  [[nodiscard]] bool isNext(const std::string& id, const Said& one) const {
    if (one.session.empty()) {
      return true;
    }
    const std::vector<std::string>& all = order_.at(one.session);
    return std::ranges::all_of(all.begin(), std::ranges::find(all, id),
                               [this](const std::string& before) { return said_.at(before).isOver; });
  }

  void left(const SendRequest& request) {
    ++report_.requests;
    const std::string& first = request.frames.front().messageId;
    const bool isAgain = request.frames.size() == 1 && refusedSinceTaken_.contains(first) && !isTheMessages();
    for (const auto& [id, one] : said_) {
      if (isAgain && !one.isOver && !one.isUnderWay && simulation_.now() - one.enqueuedAt > kSeen &&
          !refusedSinceTaken_.contains(id) && !hasBeenRefused_.contains(id) && isNext(id, one)) {
        violated("P12", first + " was asked with again while " + id + " waits, which was not");
        break;
      }
    }
    for (const OutboundFrame& frame : request.frames) {
      said_.at(frame.messageId).isUnderWay = true;
    }
  }
  void ended(const SendRequest& request, const SendReport& report) {
    note(request, report);
    for (const OutboundFrame& frame : request.frames) {
      said_.at(frame.messageId).isUnderWay = false;
    }
    const bool isTaken = report.outcome == RequestOutcome::answered && report.results.front().outcome == Outcome::ack;
    if (isTaken) {
      refusedSinceTaken_.clear();
      return;
    }
    ++refusals_;
    if (request.frames.size() == 1) {
      refusedSinceTaken_.insert(request.frames.front().messageId);
      hasBeenRefused_.insert(request.frames.front().messageId);
    }
  }

  void note(const SendRequest& request, const SendReport& report) {
    if (world_.isTraced) {
      std::string event = std::string(toString(report.outcome)) + ' ' + std::to_string(report.status);
      for (const OutboundFrame& frame : request.frames) {
        event += ' ' + frame.messageId + (said_.at(frame.messageId).isBad ? " (bad)" : "");
      }
      simulation_.note("agent", event);
    }
  }

  void over(const std::string& id, bool isTaken) {
    const auto place = said_.find(id);
    if (place == said_.end() || place->second.isOver) {
      return;
    }
    Said& one = place->second;
    one.isOver = true;
    report_.deadLetters += isTaken ? 0 : 1;
    if (!isTaken && !one.isBad && !(world_.byTime && isTheMessages())) {
      violated("P12", id + " became a dead letter, which the peer would have taken");
    }
    if (!one.isBad && !isMended_ && !world_.byTime) {
      const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(simulation_.now() - one.nextSince);
      report_.longestWait = std::max(report_.longestWait, wait);
      report_.mostRefusals = std::max(report_.mostRefusals, refusals_ - one.refusalsBefore);
    }
    if (!one.session.empty()) {
      for (const std::string& other : order_.at(one.session)) {
        Said& next = said_.at(other);
        if (!next.isOver) {
          next.nextSince = std::max(next.enqueuedAt, simulation_.now());
          next.refusalsBefore = refusals_;
          break;
        }
      }
    }
  }

  void judgeInnocents() {
    if (!isOverload() && report_.longestWait > kInnocentWaits) {
      violated("P12", "an innocent message waited for " + std::to_string(report_.longestWait.count()) + " ms");
    }
    for (const auto& [id, one] : said_) {
      if (!one.isBad && !one.isOver && isNext(id, one)) {
        violated("P12",
                 id + " waits behind refused ones for " +
                     std::to_string(
                         std::chrono::duration_cast<std::chrono::seconds>(simulation_.now() - one.nextSince).count()) +
                     " s and " + std::to_string(refusals_ - one.refusalsBefore) + " refusals");
      }
    }
  }

  const RefusalWorld world_;
  testing::TempDir dir_;
  testing::Simulation simulation_;
  Agent* agent_ = nullptr;
  std::map<std::string, Said> said_;
  std::map<std::string, std::vector<std::string>> order_;
  std::set<std::string> refusedSinceTaken_;
  std::set<std::string> hasBeenRefused_;
  std::uint32_t refusals_ = 0;
  bool isMended_ = false;
  RefusalReport report_;
};

/// The answers of a receiver with this profile, read as the transport reads them.
class Refusals::Endpoint final : public Sender {
public:
  Endpoint(Refusals& world, testing::SimulatedProcess& process) : world_(world), process_(process) {}

  [[nodiscard]] std::uint32_t initialCredit() const override { return world_.world_.isWebhook ? 1 : 16; }
  void asyncSend(SendRequest request, SendHandler handler) override {
    world_.left(request);
    auto alarm = std::shared_ptr<Alarm>(process_.clock().makeAlarm(process_.executor()));
    Alarm& set = *alarm;
    set.set(process_.clock().steadyNow() + kRoundTrip,
            [this, alarm = std::move(alarm), sent = std::move(request), told = std::move(handler)] {
              const SendReport report = answer(sent);
              world_.ended(sent, report);
              told(report);
            });
  }

private:
  [[nodiscard]] SendReport answer(const SendRequest& request) const {
    const int status = world_.world_.status;
    if (world_.refuses(request)) {
      SendReport refusal = world_.world_.isWebhook ? protocol::readWebhookAnswer(status, "")
                                                   : protocol::readUnverifiedAnswer(request, status, "");
      refusal.status = status;
      return refusal;
    }
    SendReport taken;
    taken.outcome = RequestOutcome::answered;
    taken.status = 200;
    FrameResult ack;
    ack.outcome = Outcome::ack;
    taken.results.assign(request.frames.size(), ack);
    return taken;
  }

  Refusals& world_;
  testing::SimulatedProcess& process_;
};

std::shared_ptr<void> Refusals::boot(testing::SimulatedProcess& process) {
  OutboxOptions options;
  options.agent = "urn:sim:agent";
  options.retry.maxRetries = 3;
  PeerOptions peer;
  peer.name = "peer";
  peer.url = "sim://peer";
  peer.profile = world_.isWebhook ? PeerProfile::webhook : PeerProfile::native;
  peer.maxRequests = world_.atOnce ? 4 : 1;
  options.peers = {peer};
  auto agent = std::make_shared<Agent>();
  agent->manager =
      std::make_shared<OutboxManager>(OutboxManager::open(dir_.file("agent.db"), process.options(std::move(options))));
  OutboxManager& manager = *agent->manager;
  agent->acked = manager.onAcked([this](const AckedEvent& event) { over(event.messageId, true); });
  agent->failed = manager.onFailed([this](const FailedEvent& event) { over(event.messageId, false); });
  agent->retried = manager.onRetry([this](const RetryEvent& event) {
    if (!world_.byTime && world_.percent < 100 && !said_.at(event.messageId).isBad) {
      violated("P8", event.messageId + " was charged, which the peer would have taken: " + event.error);
    }
  });
  manager.setSender(std::make_shared<Endpoint>(*this, process));
  manager.runThen(process.executor(), [](const std::error_code&) {});
  agent_ = agent.get();
  return agent;
}

/// Groups the statuses of the table that mean the same for a message.
std::string classOf(int status) {
  if (status == 400 || status == 413 || status == 422) {
    return "400 413 422: the message's";
  }
  if (status == 408 || status == 425 || status == 429) {
    return "408 425 429: overloaded";
  }
  return status == 410 ? "410: gone" : "401 to 451: refused";
}

}  // namespace

std::string RefusalWorld::describe() const {
  return "status " + std::to_string(status) + ", " + (byTime ? "by time" : std::to_string(percent) + " %") +
         (isWebhook ? ", webhook" : ", native") + (inSessions ? ", 8 sessions" : ", unordered") +
         (atOnce ? ", at once" : ", one a second");
}

RefusalReport runRefusals(const RefusalWorld& world) {
  return Refusals(world).run();
}

std::uint64_t runRefusalWorlds(std::uint64_t base, std::uint64_t step, std::uint64_t only) {
  struct Row {
    std::uint64_t worlds = 0;
    RefusalReport most;
  };
  std::map<std::pair<std::string, std::string>, Row> table;
  std::uint64_t index = 0;
  std::uint64_t broken = 0;
  for (int status = 400; status <= 451; ++status) {
    for (const std::uint32_t percent : {1U, 10U, 60U, 100U, 0U}) {
      for (unsigned layout = 0; layout < 8; ++layout) {
        if (++index % step != 0 || (only != 0 && base + index != only)) {
          continue;
        }
        const RefusalWorld world{.seed = base + index,
                                 .status = status,
                                 .percent = percent,
                                 .byTime = percent == 0,
                                 .isWebhook = (layout & 1U) != 0,
                                 .inSessions = (layout & 2U) != 0,
                                 .atOnce = (layout & 4U) != 0,
                                 .isTraced = only != 0};
        const RefusalReport report = runRefusals(world);
        if (std::getenv("ACKBOX_SIMULATION_VERBOSE") != nullptr) {
          std::printf("%s, seed %llu: %lld ms, %u refusals, %u requests, %u dead letters\n", world.describe().c_str(),
                      static_cast<unsigned long long>(world.seed), static_cast<long long>(report.longestWait.count()),
                      report.mostRefusals, report.requests, report.deadLetters);
        }
        Row& row = table[{classOf(status), percent == 0 ? "by time" : std::to_string(percent) + " %"}];
        ++row.worlds;
        row.most.longestWait = std::max(row.most.longestWait, report.longestWait);
        row.most.mostRefusals = std::max(row.most.mostRefusals, report.mostRefusals);
        row.most.requests = std::max(row.most.requests, report.requests);
        row.most.deadLetters += report.deadLetters;
        if (!report.violations.empty()) {
          ++broken;
          std::printf("%s, seed %llu\n", world.describe().c_str(), static_cast<unsigned long long>(world.seed));
          for (const std::string& violation : report.violations) {
            std::printf("  %s\n", violation.c_str());
          }
        }
      }
    }
  }
  std::printf(
      "| status | refused | worlds | an innocent waited at most | for refusals | requests at most | dead letters |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const auto& [key, row] : table) {
    std::printf("| %s | %s | %llu | %lld ms | %u | %u | %u |\n", key.first.c_str(), key.second.c_str(),
                static_cast<unsigned long long>(row.worlds), static_cast<long long>(row.most.longestWait.count()),
                row.most.mostRefusals, row.most.requests, row.most.deadLetters);
  }
  return broken;
}

}  // namespace ackbox::simulation
