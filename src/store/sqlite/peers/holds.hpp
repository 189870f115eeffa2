#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/sqlite/context.hpp"
#include "store/sqlite/store.hpp"

namespace ackbox::store {

/// What people have ordered (pauses, resumes), and which sessions a dead letter stopped.
///
/// All but `refresh`, `restart` and `tell` in a transaction. Thread-safety: none.
class Holds {
public:
  explicit Holds(Context& context);

  bool pausePeer(std::string_view peer);
  bool resumePeer(std::string_view peer);
  bool pauseSession(std::string_view peer, std::string_view session);
  bool resumeSession(std::string_view peer, std::string_view session);
  bool unblock(std::string_view peer, std::string_view session);

  /// The dead letter `key` stops its session, unless another one has before.
  void block(delivery::SessionKey session, delivery::MessageKey key);
  /// The dead letter `key` is about to be gone: what it blocked goes on.
  void release(delivery::SessionKey session, delivery::MessageKey key);

  /// Reads how far the orders have come, after another connection's commit.
  void refresh();
  /// They are to be told, whether they have changed or not.
  void restart() noexcept { untold_ = true; }
  /// The orders, if they have changed since they were told.
  [[nodiscard]] std::optional<delivery::HoldSnapshot> tell();

private:
  [[nodiscard]] delivery::PeerKey peerOf(std::string_view peer);
  void given();

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
  Statement given_;
  Statement count_;
  Statement selectPeers_;
  Statement selectSessions_;
  std::int64_t seen_ = -1;
  bool untold_ = true;
};

}  // namespace ackbox::store
