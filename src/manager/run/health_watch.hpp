#pragma once

#include <map>
#include <string>
#include <vector>

#include "ackbox/health.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// Compares what the run sees with the thresholds and says when one is crossed, either way. Pure: time is passed in.
///
/// Thread-safety: none.
class HealthWatch {
public:
  using Events = std::vector<HealthEvent>;

  explicit HealthWatch(const HealthThresholds& thresholds) : thresholds_(thresholds) {}

  /// Whether any check is on: else nothing need be fed.
  [[nodiscard]] bool on() const noexcept;

  /// Counts, as of a commit; and the age of the oldest where the commit has looked for it.
  void look(const store::Vitals& vitals, WallTime now, Events& events);
  /// What the run found out about a peer.
  void peerChanged(const std::string& peer, bool down, WallTime since, WallTime now, Events& events);

private:
  // Adds an event when `value` crosses `threshold`; `raised` remembers on which side it is.
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
