#pragma once

#include <vector>

#include "ackbox/events.hpp"
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
  void peerWentBack(const PeerResetEvent& event);
  void healthChanged(const HealthEvent& event);

  Log& log_;
  std::vector<Subscription> subscriptions_;
};

}  // namespace ackbox::manager
