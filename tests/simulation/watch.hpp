#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/attendance.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"

namespace ackbox::simulation {

struct Place;

/// Sees everything that leaves for the network, and holds it against what must not be under way: two requests of one
/// session, or of one unordered message (P4, P7); what is paused or blocked; what is not due yet, or no longer.
class Watch {
public:
  /// `steadyCalendars`: no calendar of this world steps back, so that what is sent before its time is at fault.
  Watch(Ledger& ledger, Reach& reach, Attendance& attendance, const testing::Simulation& simulation,
        bool steadyCalendars)
      : ledger_(ledger),
        reach_(reach),
        attendance_(attendance),
        simulation_(simulation),
        steadyCalendars_(steadyCalendars) {}

  /// A sender for one process that passes everything on to `sender`.
  [[nodiscard]] std::shared_ptr<Sender> wrap(const Place& place, const Clock& clock, std::shared_ptr<Sender> sender);
  /// Its requests are nobody's any more.
  void died(const std::string& process);

  /// The session was halted: of its messages, only those up to sequence `after` may leave from the next instant on.
  void halted(const std::string& agent, const std::string& peer, const std::string& session, std::uint64_t after);
  void released(const std::string& agent, const std::string& peer, const std::string& session);
  void releasedAll(const std::string& agent);

  /// How often a message was refused alone by something on the way, after it had been refused before and another one of
  /// its peer had been taken since: at most so often it may have been charged for it.
  [[nodiscard]] std::uint32_t refusedForItself(const std::string& messageId) const;

private:
  class WatchedSender;
  struct Halt {
    std::chrono::nanoseconds since{0};
    std::uint64_t after = 0;
  };

  void left(const Place& place, const Clock& clock, const SendRequest& request, std::vector<std::string>& lanes);
  void judgeFrame(const std::string& agent, const Clock& clock, const std::string& peer, const OutboundFrame& frame);
  void ended(const std::string& process, const std::vector<std::string>& lanes);
  void answeredOne(const std::string& id, const FrameResult& result);
  void answered(const std::string& peer, const std::vector<std::string>& ids, const SendReport& report);

  Ledger& ledger_;
  Reach& reach_;
  Attendance& attendance_;
  const testing::Simulation& simulation_;
  const bool steadyCalendars_;
  /// Which process has a request with frames of this lane under way.
  std::map<std::string, std::string> lanes_;
  std::map<std::string, Halt> holds_;
  // How many answers had come when a message was refused last, by the process, which knows of its own requests only,
  // and the message.
  std::map<std::pair<std::string, std::string>, std::uint64_t> refusedAt_;
  // By message.
  std::map<std::string, std::uint32_t> refusedForItself_;
  std::map<std::string, std::uint64_t> takenAt_;
  std::uint64_t answers_ = 0;
};

}  // namespace ackbox::simulation
