#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ackbox/events.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/store.hpp"

namespace ackbox::store {

/// What peers were seen to remember, and what follows when they have forgotten: sessions begin anew, and acknowledged
/// rows that are still here go out again where the policy says so.
///
/// All in a transaction. Thread-safety: none.
class PeerResets {
public:
  PeerResets(Context& context, Peers& peers);

  std::optional<PeerResetEvent> hear(const delivery::PeerIdentity& news);
  /// Rows of these sessions wait again: whoever has not been told may not claim them.
  void recall(const std::set<delivery::SessionKey>& sessions);
  /// How often rows were put back, by any process. Whoever has not read the rows since may not claim the sessions.
  [[nodiscard]] std::int64_t recalls();

private:
  bool noteLost(const delivery::PeerIdentity& news, PeerResetEvent& event);
  void noteRestored(const delivery::PeerIdentity& news, PeerResetEvent& event);
  /// Puts back the retained rows of `peer`, or only those of its `session` above `accepted`; how many.
  std::uint64_t resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted);
  void putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session);
  [[nodiscard]] std::int64_t recalled();

  /// Rows of one session that wait again.
  struct Returned {
    delivery::SessionKey session = 0;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
    delivery::MessageKey first = 0;
    std::uint64_t firstSequence = 0;
  };
  [[nodiscard]] static std::vector<Returned> read(Query&& query);
  /// How many they are.
  std::int64_t note(const std::vector<Returned>& returned, MessageState from);

  Context& context_;
  Peers& peers_;
  Statement meet_;
  Statement selectPeer_;
  Statement lose_;
  Statement recallSessions_;
  Statement loseStates_;
  Statement restore_;
  Statement recallSession_;
  Statement recallOrdered_;
  Statement selectSession_;
  Statement countRecall_;
  Statement selectRecalls_;
  Statement selectKept_;
  Statement putBackKept_;
  Statement selectDeferred_;
  Statement putBackDeferred_;
  Statement countResent_;
};

}  // namespace ackbox::store
