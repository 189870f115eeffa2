#pragma once

#include <cstddef>
#include <vector>

#include "ackbox/peer_status.hpp"
#include "sqlite/statement.hpp"
#include "store/reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Reads where circuits stand and what is blocked. In a snapshot, so that the facts are of one instant.
///
/// Thread-safety: that of the connection.
class StatusReader {
public:
  StatusReader(sqlite3* connection, std::string_view prefix);

  /// By name. What only a run knows is left as it is.
  [[nodiscard]] std::vector<KeyedStatus> peers();
  [[nodiscard]] std::vector<BlockedSession> blocked(std::size_t limit);

private:
  Statement selectPeers_;
  Statement selectBlocked_;
};

}  // namespace ackbox::store::sqlite
