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

/// Writes an outbox's events to its log, so that the operator sees the same events as the program's callbacks.
///
/// Lifetime: ends before the log and the hub.
class EventLog {
public:
  EventLog(EventHub& hub, Log& log);

private:
  void peerChanged(const PeerEvent& event);
  /// Whether the peer was paused until this event.
  bool wasPaused(const PeerEvent& event) ACKBOX_EXCLUDES(mutex_);
  void peerHolds(const SentEvent& event);
  /// Whether this absence of the peer's application is not yet in the log.
  bool isNewAbsence(const std::string& peer, WallTime since) ACKBOX_EXCLUDES(mutex_);
  void peerWentBack(const PeerResetEvent& event);
  void healthChanged(const HealthEvent& event);

  Log& log_;
  Mutex mutex_;
  // The paused peers: after a resume, a peer counts as `up` although it has not answered yet.
  std::set<std::string> paused_ ACKBOX_GUARDED_BY(mutex_);
  // By peer: the latest start of an absence of its application.
  std::map<std::string, WallTime> absences_ ACKBOX_GUARDED_BY(mutex_);
  std::vector<Subscription> subscriptions_;
};

}  // namespace ackbox::manager
