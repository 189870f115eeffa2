#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ackbox/events.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/discovery.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The identities that peers have shown, and the reactions to a peer's reset: sessions restart, and retained
/// acknowledged rows are sent again if the policy says so.
///
/// A recall is one operation that puts rows back; the file counts recalls. `Context::recallsMade` includes the recalls
/// of this transaction at once: an answer that commits together with the detection of a reset, but was claimed before,
/// is from before the reset. Discovery starts over when a recall is committed.
///
/// All in a transaction. Thread-safety: none.
class PeerResets final : public store::PeerResets, public UnscopedWriteBack {
public:
  PeerResets(Context& context, Peers& peers, Discovery& discovery);

  std::optional<PeerResetEvent> recordIdentity(const delivery::PeerIdentity& identity) override;
  /// Rows of these sessions are pending again: a process that has not read the rows since may not claim the sessions.
  void recall(const std::set<delivery::SessionKey>& sessions);
  /// Reads the number of recalls.
  void refresh();

  void begun(bool othersCommitted) override;
  void committed() noexcept override;
  void rolledBack() noexcept override;
  /// Nothing to forget: `begun` reads the number of recalls anew when another store has committed, and `rolledBack`
  /// restores the committed one.
  void forget() noexcept override {}
  [[nodiscard]] bool isPending() const noexcept override { return context_.recallsMade != committed_; }

private:
  bool noteLost(const delivery::PeerIdentity& identity, PeerResetEvent& event);
  void noteRestored(const delivery::PeerIdentity& identity, PeerResetEvent& event);
  /// Puts back the retained rows of `peer`, or only those of its `session` above `accepted`; returns how many.
  std::uint64_t resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted);
  void putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session);
  /// Counts one more recall, and returns its number.
  [[nodiscard]] std::int64_t countRecall();

  /// Rows of one session that are pending again.
  struct Returned {
    delivery::SessionKey session = 0;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
    delivery::MessageKey first = 0;
    std::uint64_t firstSequence = 0;
  };
  [[nodiscard]] static std::vector<Returned> read(Query&& query);
  /// Records the changes of the returned rows; returns their number.
  std::int64_t note(const std::vector<Returned>& returned, MessageState from);

  Context& context_;
  Peers& peers_;
  Discovery& discovery_;
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
  Statement selectDeferredOfPeer_;
  Statement putBackDeferred_;
  Statement countResent_;
  // The recalls as of the last commit that was seen.
  std::int64_t committed_ = -1;
};

}  // namespace ackbox::store::sqlite
