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
#include "simulation/hub.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"

namespace ackbox::simulation {

struct Place;

/// Checks every request that leaves for the network against the rules: not two requests at once for one session or one
/// unordered message (P4, P7); no paused or blocked message; no message before its time or after its expiry.
class Watch {
public:
  /// `steadyCalendars`: no calendar of this world steps back, so sending a message before its time is a fault.
  Watch(Ledger& ledger, Reach& reach, Attendance& attendance, Hub& hub, const testing::Simulation& simulation,
        bool steadyCalendars)
      : ledger_(ledger),
        reach_(reach),
        attendance_(attendance),
        hub_(hub),
        simulation_(simulation),
        steadyCalendars_(steadyCalendars) {}

  /// A sender for one process that passes every request on to `sender`.
  [[nodiscard]] std::shared_ptr<Sender> wrap(const Place& place, const Clock& clock, std::shared_ptr<Sender> sender);
  /// The process has no requests any more.
  void died(const std::string& process);
  /// The process goes on with its requests, and others may send what it has in flight, and what it has claimed and
  /// sends at the same instant.
  void claimsLost(const std::string& process);

  /// The session was halted: from the next instant on, only its messages up to sequence `after` may leave.
  void halted(const std::string& agent, const std::string& peer, const std::string& session, std::uint64_t after);
  void released(const std::string& agent, const std::string& peer, const std::string& session);
  void releasedAll(const std::string& agent);

  /// How often a message was refused alone by something on the way, after an earlier refusal and after another message
  /// of its peer had been accepted since; it may have been charged for it at most this often.
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
  Hub& hub_;
  const testing::Simulation& simulation_;
  const bool steadyCalendars_;
  struct UnderWay {
    std::string process;
    /// It has lost its claims meanwhile.
    bool isAnybodys = false;
  };
  /// Which process has a request with frames of this lane under way.
  std::map<std::string, UnderWay> lanes_;
  // When each process last lost its claims.
  std::map<std::string, std::chrono::nanoseconds> lostAt_;
  std::map<std::string, Halt> holds_;
  // The number of answers when a message was last refused, by process (which knows only its own requests) and message.
  std::map<std::pair<std::string, std::string>, std::uint64_t> refusedAt_;
  // By message.
  std::map<std::string, std::uint32_t> refusedForItself_;
  std::map<std::string, std::uint64_t> takenAt_;
  std::uint64_t answers_ = 0;
};

}  // namespace ackbox::simulation
