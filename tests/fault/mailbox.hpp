#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_options.hpp"

namespace ackbox::testing {

/// The frames of a mailbox that its hub has given out, and the agent that fetches them. Their texts are those of a
/// daemon and of a `MailboxFetcher`.
class Mailbox {
public:
  explicit Mailbox(std::string agent) : agent_(std::move(agent)) {}

  /// The hub's part: this mailbox, whose frames `take` is given.
  [[nodiscard]] DeferredMailboxes hub();
  void take(DeferredFrame frame) { inHand_.push_back(std::move(frame)); }

  /// Hands each frame to the agent's handler and reports the outcome, unless `isLost`. A frame whose outcome is not
  /// final stays in hand. `turn` runs the work that waits on both machines.
  void fetch(InboundHandler& handler, bool isLost, const std::function<void()>& turn);

  /// The hub takes the frames back.
  void end();

private:
  void handIn(DeferredFrame frame, InboundHandler& handler, bool isLost, const std::function<void()>& turn);

  const std::string agent_;
  std::vector<DeferredFrame> inHand_;
};

}  // namespace ackbox::testing
