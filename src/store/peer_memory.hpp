#pragma once

#include <cstdint>
#include <optional>

#include "ackbox/events.hpp"
#include "store/context.hpp"
#include "store/peers.hpp"
#include "store/store.hpp"

namespace ackbox::store {

/// What peers were seen to remember, and what follows when they have forgotten: sessions begin anew, and acknowledged
/// rows that are still here go out again where the policy says so.
///
/// All in a transaction. Thread-safety: none.
class PeerMemory {
public:
  PeerMemory(Context& context, Peers& peers);

  /// `isShared`: other processes have the file open, and must read anew what waits before they claim it.
  std::optional<PeerResetEvent> hear(const delivery::PeerNews& news, bool isShared);
  /// How often rows were put back, by any process. Whoever has not read the rows since may not claim the sessions.
  [[nodiscard]] std::int64_t recalls();

private:
  bool noteLost(const delivery::PeerNews& news, PeerResetEvent& event);
  void noteRestored(const delivery::PeerNews& news, bool isShared, PeerResetEvent& event);
  /// Puts back the retained rows of `peer`, or only those of its `session` above `accepted`; how many.
  std::uint64_t resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted);
  [[nodiscard]] std::int64_t recalled();

  Context& context_;
  Peers& peers_;
  Statement meet_;
  Statement selectPeer_;
  Statement lose_;
  Statement recallSessions_;
  Statement loseStates_;
  Statement restore_;
  Statement recallSession_;
  Statement selectSession_;
  Statement countRecall_;
  Statement selectRecalls_;
  Statement selectKept_;
  Statement putBack_;
  Statement countResent_;
};

}  // namespace ackbox::store
