#pragma once

#include <map>
#include <string>
#include <vector>

#include "ackbox/health.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// Compares the run's measurements with the thresholds and reports crossings, either way. Pure: time is passed in.
///
/// Thread-safety: none.
class HealthWatch {
public:
  using Events = std::vector<HealthEvent>;

  explicit HealthWatch(const HealthThresholds& thresholds) : thresholds_(thresholds) {}

  /// Whether any check is on: if not, no calls are needed.
  [[nodiscard]] bool on() const noexcept;

  /// The counts at a commit, and the age of the oldest message if the commit has looked for it.
  void look(const store::Vitals& vitals, WallTime now, Events& events);
  /// The run's finding about a peer.
  void peerChanged(const std::string& peer, bool down, WallTime since, WallTime now, Events& events);

private:
  // Adds an event when `value` crosses `threshold`; `raised` stores the current side.
  static void cross(HealthEvent event, bool& raised, Events& events);
  void lookAtPeers(WallTime now, Events& events);

  struct DownPeer {
    WallTime since;
    bool raised = false;
  };

  const HealthThresholds thresholds_;
  bool failed_ = false;
  bool pending_ = false;
  bool oldestAge_ = false;
  // Peers that are down.
  std::map<std::string, DownPeer> peers_;
};

}  // namespace ackbox::manager
