#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ackbox/events.hpp"
#include "base/mutex.hpp"
#include "manager/log/log.hpp"
#include "manager/run/subscribers.hpp"

namespace ackbox::manager {

/// Writes an outbox's events into its log: the operator reads what the program is called with.
///
/// Lifetime: ends before the log and the hub.
class EventLog {
public:
  EventLog(EventHub& hub, Log& log);

private:
  void peerChanged(const PeerEvent& event);
  /// Whether it was paused until this event.
  bool wasPaused(const PeerEvent& event) ACKBOX_EXCLUDES(mutex_);
  void peerHolds(const SentEvent& event);
  /// Whether it was not in the log yet that the peer has no application.
  bool isNewAbsence(const std::string& peer, WallTime since) ACKBOX_EXCLUDES(mutex_);
  void peerWentBack(const PeerResetEvent& event);
  void healthChanged(const HealthEvent& event);

  Log& log_;
  Mutex mutex_;
  // Let go on by hand, they are `up` as far as is known, but nobody has answered.
  std::set<std::string> paused_ ACKBOX_GUARDED_BY(mutex_);
  // The latest time, by peer, since which it has had no application for what it was sent.
  std::map<std::string, WallTime> absences_ ACKBOX_GUARDED_BY(mutex_);
  std::vector<Subscription> subscriptions_;
};

}  // namespace ackbox::manager
