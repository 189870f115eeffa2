#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "simulation/common.hpp"
#include "simulation/daemon.hpp"

namespace ackbox::simulation {

/// The receiving half of an agent: handlers that write into a table of effects, reply, refuse, throw, kill their
/// process, and work for a while before any of this: about half of the frames in a pool, which stalls as long as other
/// frames may run.
class Inbox {
public:
  /// `listens`: false for a second process on the same outbox, which works only on frames that the first has deferred.
  Inbox(testing::SimulatedProcess& process, Common& common, Place place, OutboxManager& manager, bool listens);

  [[nodiscard]] InboundHandler& handler() { return *handler_; }

private:
  struct Thought {
    DeferredFrame frame;
    std::unique_ptr<Alarm> alarm;
  };

  [[nodiscard]] InboundOptions options();
  void setDeferred(DeferredOptions& options);
  void judgeExpiry(const InboundFrame& frame);
  void judgeResent(const InboundFrame& frame, const Entry& entry);
  HandlerResult handle(const InboundFrame& frame, InboundTransaction& transaction);
  HandlerResult work(const InboundFrame& frame, InboundTransaction& transaction);
  [[nodiscard]] bool reply(const InboundFrame& frame, InboundTransaction& transaction, const std::string& id);
  void sayAside(const std::string& to);
  void think(DeferredFrame frame);
  /// Continues for `least` and a drawn time more.
  void thinkOn(std::uint64_t thought, std::chrono::nanoseconds least = {});
  /// Whether a frame outside the pool is the first of its session and need not wait.
  [[nodiscard]] bool othersMayRun();
  void mayDie();
  void writeLate(InboundTransaction& transaction);

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  OutboxManager& manager_;
  std::uint64_t lastThought_ = 0;
  // Frames under work may outlive the handler.
  std::map<std::uint64_t, Thought> thoughts_;
  // Only with the canary: effects that were not written in time.
  std::vector<Effect> late_;
  // Absent: the agent has no applications.
  std::optional<Daemon> daemon_;
  std::optional<InboundHandler> handler_;
};

}  // namespace ackbox::simulation
