#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/events.hpp"
#include "ackbox/log.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/stats.hpp"
#include "ackbox/testing/simulation.hpp"
#include "ackbox/trace_hooks.hpp"
#include "simulation/ledger.hpp"
#include "simulation/situations.hpp"

namespace ackbox::simulation {

struct Place;

/// The value of a record's field; empty: there is no field of this name.
[[nodiscard]] std::string_view fieldOf(const LogRecord& record, std::string_view name);

/// Records the situations that a world meets, from the usual reports to its agents: events, log records, hooks,
/// requests and their reports, totals. Draws and changes nothing, so that the world goes as it would without it.
class Reach {
public:
  /// `steadyDisks`: no disk of this world fails, so a slow enqueue has waited for room.
  Reach(const Ledger& ledger, const testing::Simulation& simulation, bool steadyDisks)
      : ledger_(ledger), simulation_(simulation), steadyDisks_(steadyDisks) {}

  void saw(Situation situation) noexcept { seen_.set(static_cast<std::size_t>(situation)); }
  [[nodiscard]] const Situations& seen() const noexcept { return seen_; }

  /// For a process's options; to be kept as long as its manager.
  [[nodiscard]] LogSink log();
  [[nodiscard]] std::shared_ptr<TraceHooks> hooks();
  [[nodiscard]] std::vector<Subscription> subscribe(const Place& place, OutboxManager& manager);

  void left(const Place& place, const SendRequest& request);
  /// The end of the request to `peer` with these messages.
  void ended(const Place& place, const std::string& peer, const std::vector<std::string>& ids,
             const SendReport& report);
  /// A process died, with the requests that it had under way.
  void died(const std::string& process);

  /// A handler is called with a frame.
  void asked(const std::string& messageId) { asked_.insert(messageId); }
  /// A run of a deferred handler begins.
  void deferredRun(const Place& place, const DeferredFrame& frame);
  void explained(const Explanation& explanation);
  /// Called at the end, for each outbox.
  void total(const Stats& stats);
  void commits(std::uint64_t inCalls, std::uint64_t shared);

private:
  class Hooks;
  /// The history of a message's requests so far; each flag is cleared after its use.
  struct Fate {
    /// The process that has it under way; empty: no process has.
    std::string sender;
    /// The process that had it under way and died.
    std::string orphanOf;
    bool isOrdered = false;
    /// Its last request settled it: it was acknowledged or refused for good.
    bool answered = false;
    bool unanswered = false;
    bool receiverDied = false;
    /// The number of messages in the request that lost a connection, and in the one that was refused as too large.
    std::size_t lostAmong = 0;
    std::size_t tooLargeAmong = 0;
    /// How often its peer had been down when that connection was lost.
    std::uint32_t downs = 0;
  };

  void leftOne(const Place& place, const SendRequest& request, const OutboundFrame& frame);
  void shapeOf(const SendRequest& request);
  void failedWhole(const std::vector<std::string>& ids, std::uint32_t downs, const SendReport& report);
  void answeredOne(const FrameResult& result, Fate& fate);
  void acked(const AckedEvent& event);
  void failed(const FailedEvent& event);
  void peer(const Place& place, const PeerEvent& event);
  void reset(const PeerResetEvent& event);
  void enqueued(const std::error_code& error, const EnqueueReceipt& receipt, std::chrono::nanoseconds since);

  const Ledger& ledger_;
  const testing::Simulation& simulation_;
  const bool steadyDisks_;
  Situations seen_;
  // By message id.
  std::map<std::string, Fate, std::less<>> fates_;
  std::set<std::string, std::less<>> asked_;
  // By process and peer.
  std::map<std::pair<std::string, std::string>, std::uint32_t> downs_;
  std::map<std::pair<std::string, std::string>, PeerState> states_;
};

}  // namespace ackbox::simulation
