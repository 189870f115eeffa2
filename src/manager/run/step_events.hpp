#pragma once

#include <functional>
#include <string>
#include <vector>

#include "delivery/run_actions.hpp"
#include "manager/run/peer_watch.hpp"
#include "manager/run/step_job.hpp"
#include "manager/run/subscribers.hpp"

namespace ackbox::manager {

/// The events of a committed step. They are created with the step at hand, and may be emitted elsewhere.
///
/// Thread-safety: none.
class StepEvents {
public:
  struct Names {
    std::function<std::string(delivery::PeerKey)> ofPeer;
    std::function<std::string(delivery::SessionKey)> ofSessionsPeer;
  };

  /// Takes the step's settlements; leaves out those that were refused by their guard.
  StepEvents(StepJob& step, const Names& names, PeerWatch& watch);

  [[nodiscard]] const delivery::StepCounts& counts() const noexcept { return counts_; }
  void emit(EventHub& events);

private:
  struct Outcome {
    MessageEvent message;
    delivery::Settlement settlement;
  };

  PeerWatch::Events peers_;
  std::vector<PeerResetEvent> resets_;
  delivery::StepCounts counts_;
  std::vector<Outcome> outcomes_;
};

}  // namespace ackbox::manager
