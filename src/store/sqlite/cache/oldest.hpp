#pragma once

#include <cstddef>
#include <optional>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Maintains `Counter::oldestKey`: no live row has a smaller key. So dead letters and retained rows before the oldest
/// live row are passed once, in small steps, and not by each reader.
///
/// Only rows that a peer forgot become live again under their old keys, see `returned`: a redrive makes a new row.
///
/// All in a transaction. Thread-safety: none.
class Oldest final : public WriteBack {
public:
  Oldest(sqlite3* connection, std::string_view prefix, Counters& counters);

  /// The row with this key is no longer live.
  void settled(delivery::MessageKey key);
  /// The row with this key, and perhaps later ones, is live again.
  void returned(delivery::MessageKey key);
  /// Advances the key if the oldest row was settled; looks at a bounded number of rows.
  void flush() override;
  /// Advances the key, also past rows that other processes settled; looks at no more than `looks` rows.
  void advance(std::size_t looks);
  /// Whether no row is live, as far as a look at `looks` rows shows.
  [[nodiscard]] bool isNoneLive(std::size_t looks);
  /// When the oldest live row was enqueued, if a look has found it.
  [[nodiscard]] std::optional<WallTime> enqueuedAt() const noexcept {
    return exact_ ? std::optional(enqueuedAt_) : std::nullopt;
  }
  /// After a scope is undone, the lost facts are looked for again.
  void scopeBegun() override {}
  void forget() noexcept override;

private:
  // Whether the outbox has no rows, so that no look is needed.
  [[nodiscard]] bool isOutboxEmpty();

  Counters& counters_;
  Statement scan_;
  // The row with the counter's key is there and live.
  bool exact_ = false;
  WallTime enqueuedAt_{};
  bool due_ = false;
  std::size_t settled_ = 0;
};

}  // namespace ackbox::store::sqlite
