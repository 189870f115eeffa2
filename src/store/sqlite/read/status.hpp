#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "sqlite/statement.hpp"
#include "store/reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Whether a row `p` of #peers is shown: one that was removed is while it has messages.
inline constexpr std::string_view kIsPeerShown =
    "(p.removed_at_ms=0 OR EXISTS(SELECT 1 FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id WHERE "
    "s.peer_id=p.id AND (m.live<>0 OR m.failed<>0)))";

/// Reads the state of the circuits, the blocked sessions, and the subscriptions. In a snapshot, so that the facts are
/// of one instant.
///
/// Thread-safety: that of the connection.
class StatusReader {
public:
  StatusReader(sqlite3* connection, std::string_view prefix);

  /// Sorted by name. Leaves the fields that only a run knows at their defaults.
  [[nodiscard]] std::vector<KeyedStatus> peers();
  [[nodiscard]] std::vector<BlockedSession> blocked(std::size_t limit);
  /// Sorted by name.
  [[nodiscard]] std::vector<PeerSubscription> subscriptions();

private:
  Statement selectPeers_;
  Statement selectBlocked_;
  Statement selectSubscriptions_;
};

}  // namespace ackbox::store::sqlite
