#pragma once

#include "ackbox/outbox_manager.hpp"
#include "simulation/agent.hpp"
#include "simulation/common.hpp"

namespace ackbox::simulation {

/// The people who look after an agent: they redrive, discard, give up by hand, pause, resume, unblock, and ask what is
/// the matter, while everything else goes on.
class Operators {
public:
  explicit Operators(Common& common) : common_(common) {}

  /// Does one thing, drawn, to one agent. Throws `Error` when its process dies meanwhile.
  void act(Agent& agent);
  /// Ends every pause and block. Throws as `act`.
  void letGo(Agent& agent);
  /// Ends every block. Throws as `act`.
  void unblock(Agent& agent);

private:
  void redriveOrDiscard(Agent& agent);
  void giveUpByHand(Agent& agent);
  void pauseOrResume(Agent& agent);
  void ask(Agent& agent);

  Common& common_;
};

}  // namespace ackbox::simulation
