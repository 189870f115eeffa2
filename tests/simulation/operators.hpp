#pragma once

#include "ackbox/outbox_manager.hpp"
#include "simulation/agent.hpp"
#include "simulation/common.hpp"

namespace ackbox::simulation {

/// The operators of an agent: they redrive, resend, discard, give up by hand, change peers, publish, pause, resume,
/// unblock, and ask for explanations, while everything else goes on.
class Operators {
public:
  explicit Operators(Common& common) : common_(common) {}

  /// Does one drawn action to one agent. Throws `Error` if its process dies meanwhile.
  void act(Agent& agent);
  /// Ends every pause and block. Throws like `act`.
  void letGo(Agent& agent);
  /// Ends every block. Throws like `act`.
  void unblock(Agent& agent);

private:
  void redriveOrDiscard(Agent& agent);
  void resend(Agent& agent);
  void changePeers(Agent& agent);
  void giveUpByHand(Agent& agent);
  void pauseOrResume(Agent& agent);
  void ask(Agent& agent);

  Common& common_;
};

}  // namespace ackbox::simulation
