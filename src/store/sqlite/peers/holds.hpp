#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/sqlite/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Operators' pauses and resumes, and the sessions that a dead letter has blocked.
///
/// All but `refresh`, `restart` and `takeChanged` in a transaction. Thread-safety: none.
class Holds final : public store::Holds, public WriteBack {
public:
  explicit Holds(Context& context);

  bool pausePeer(std::string_view peer) override;
  bool resumePeer(std::string_view peer) override;
  bool pauseSession(std::string_view peer, std::string_view session) override;
  bool resumeSession(std::string_view peer, std::string_view session) override;
  bool unblock(std::string_view peer, std::string_view session) override;

  /// The dead letter `key` blocks its session, unless another one already does.
  void block(delivery::SessionKey session, delivery::MessageKey key);
  /// The dead letter `key` is about to be removed: the session that it blocked continues.
  void endBlock(delivery::SessionKey session, delivery::MessageKey key);

  /// Counts a change, so that every process notices it.
  void countChange();
  /// Reads whether another connection has changed the holds.
  void refresh();
  /// Makes `takeChanged` return the holds even if they have not changed.
  void restart() noexcept { isChanged_ = true; }
  /// The holds, if they have changed since the last call.
  [[nodiscard]] std::optional<delivery::HoldSnapshot> takeChanged();

  void begun(bool othersCommitted) override;
  /// A change that is undone leaves `isChanged_` set: the holds are then taken once more, which harms nothing.
  void rolledBack() noexcept override {}
  void scopeBegun() override {}
  void scopeUndone() noexcept override {}
  void forget() noexcept override { isChanged_ = true; }

  /// The key of a peer that is not removed. Throws `unknownPeer`.
  [[nodiscard]] delivery::PeerKey peerOf(std::string_view peer);

private:
  Context& context_;
  Statement findPeer_;
  Statement pausePeer_;
  Statement isPeerPaused_;
  Statement resumePeer_;
  Statement createSession_;
  Statement createState_;
  Statement pauseSession_;
  Statement resumeSession_;
  Statement unblock_;
  Statement block_;
  Statement release_;
  Statement countChange_;
  Statement count_;
  Statement selectPeers_;
  Statement selectSessions_;
  bool isChanged_ = true;
};

}  // namespace ackbox::store::sqlite
