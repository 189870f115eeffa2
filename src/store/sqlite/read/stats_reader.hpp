#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "ackbox/stats.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Reads figures of the file, its peers, its sessions, and its inbound senders. `stats`, `peers`, `oldestKey` and
/// `passedFor` in a snapshot, so that the figures are of one instant.
///
/// Thread-safety: that of the connection.
class StatsReader {
public:
  StatsReader(sqlite3* connection, const OutboxOptions& options);

  [[nodiscard]] Stats stats();
  [[nodiscard]] std::vector<PeerStats> peers();
  [[nodiscard]] std::optional<SessionStats> session(std::string_view peer, std::string_view session);
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] std::vector<InboundSenderStats> senders(std::size_t limit);
  [[nodiscard]] std::vector<InboundOriginStats> origins(std::string_view source, std::size_t limit);
  /// A key with no live row below it.
  [[nodiscard]] std::int64_t oldestKey();
  /// The key up to which no row is in the state of `filter`, so that a million dead letters before the oldest waiting
  /// message are not looked at page by page.
  [[nodiscard]] std::int64_t passedFor(const MessageFilter& filter);

private:
  std::uint64_t sending();
  std::unordered_map<delivery::PeerKey, std::uint64_t> sendingToPeers();
  std::optional<WallTime> readOldest();
  void readSizes(Stats& stats);

  const OutboxOptions options_;
  const char* const fileName_;
  Counters counters_;
  Statement oldest_;
  Statement pages_;
  Statement peers_;
  Statement session_;
  Statement sessions_;
  Statement claims_;
  Statement claimsOfPeers_;
  Statement senders_;
  Statement origins_;
  // No row below it is live: a redriven message gets a new key.
  std::int64_t oldestKey_ = 0;
  // The stored floor at the time of that search. A lower floor later means that old rows are live again.
  std::int64_t floorSeen_ = 0;
};

}  // namespace ackbox::store::sqlite
