#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/message.hpp"
#include "ackbox/stats.hpp"
#include "delivery/types.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/names.hpp"
#include "store/types.hpp"

namespace ackbox::store::postgres {

/// One column of `#counts` each, in their order there; the first `kPeerCounts` are of peers.
enum class Count : std::uint8_t {
  pending,
  sent,
  failed,
  pendingBytes,
  enqueued,
  acked,
  failedTotal,
  totalRetries,
  staleSettles,
  received,
  duplicates,
  gaps,
  superseded,
  inbox,
  inboxBytes,
  deferred,
  refusedAcks,
  retained,
  ackLatency,
  refusedUnauthenticated,
  refusedForbidden,
  refusedLimits,
  inboundBytes,
  recounts,
  staleEpochs,
  idConflicts,
  /// Not a sum: the latest.
  lastAckedAt,
};
inline constexpr std::size_t kCounts = 27;
using CountValues = std::array<std::int64_t, kCounts>;

/// SQL: the sum of each column, of any rows.
[[nodiscard]] std::string sumsOfCounts();
[[nodiscard]] CountValues countsOf(const Row& row, int firstColumn);
[[nodiscard]] Stats toStats(const CountValues& values, std::uint64_t sending);
void fillIn(PeerStats& stats, const CountValues& values, std::uint64_t sending);

/// The differences that a transaction makes to the counts: one row for each peer, written at its end. So no transaction
/// waits for another to count.
class Counts final : public Memory {
public:
  /// `folds`: makes one row of many now and then.
  Counts(Connection& connection, bool folds) : connection_(connection), folds_(folds) {}

  /// The sum of all, with the changes of this transaction; as of the first question in it.
  [[nodiscard]] std::int64_t value(Count count);
  [[nodiscard]] Fill fill();
  /// For the rest of the transaction, the sums have this store's changes, and others' up to at most a second ago; until
  /// `refresh`.
  [[nodiscard]] Counts& recent(SteadyTime now) noexcept;

  /// `peer` 0: of the store alone.
  void add(delivery::PeerKey peer, Count count, std::int64_t difference);
  void add(Count count, std::int64_t difference) { add(0, count, difference); }
  /// Rows enter `state`, or leave it with negative numbers.
  void addRows(delivery::PeerKey peer, MessageState state, std::int64_t rows, std::int64_t bytes);
  void acknowledged(delivery::PeerKey peer, WallTime enqueuedAt, WallTime now);
  /// The sums are read again.
  void refresh() noexcept { isKnown_ = false; }

  /// Folds the rows that others have written, such as applications' transactions, which fold none. Posted.
  void foldIfMany();

  void flush() override;
  void committed() noexcept override;
  void rolledBack() noexcept override;
  void scopeBegun() override { scopes_.push_back(own_); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;

private:
  // Between two folds.
  static constexpr int kWritesMax = 64;

  Connection& connection_;
  const bool folds_;
  std::map<delivery::PeerKey, CountValues> changes_;
  // All changes of this transaction, also those that are written.
  CountValues own_{};
  CountValues base_{};
  std::vector<CountValues> scopes_;
  bool isKnown_ = false;
  // Whether `base_` was read at `readAt_`, and has all commits of this store since.
  bool isRecent_ = false;
  SteadyTime readAt_{};
  int writes_ = 0;
};

}  // namespace ackbox::store::postgres
