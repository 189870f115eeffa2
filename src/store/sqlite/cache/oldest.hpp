#pragma once

#include <cstddef>
#include <optional>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Keeps `Counter::oldestKey`: no live row has a smaller key. Dead letters and retained rows that lie in front of the
/// oldest live row are so passed once, in small steps, and not by each reader.
///
/// Only what a peer forgot becomes live again under its old key, which `returned` reports: a redrive makes a new row.
///
/// All in a transaction. Thread-safety: none.
class Oldest final : public WriteBack {
public:
  Oldest(sqlite3* connection, std::string_view prefix, Counters& counters);

  /// The row with this key is not live any more.
  void settled(delivery::MessageKey key);
  /// The row with this key, and perhaps later ones, is live again.
  void returned(delivery::MessageKey key);
  /// Moves on if the oldest row was settled; looks at a bounded number of rows.
  void flush() override;
  /// Moves on, also past what other processes settled; looks at no more than `looks` rows.
  void advance(std::size_t looks);
  /// Whether no row is live, as far as `looks` rows show.
  [[nodiscard]] bool isNoneLive(std::size_t looks);
  /// When the oldest live row was enqueued, as far as a look has found it.
  [[nodiscard]] std::optional<WallTime> enqueuedAt() const noexcept {
    return exact_ ? std::optional(enqueuedAt_) : std::nullopt;
  }
  /// What is lost when a scope is undone is looked for again.
  void scopeBegun() override {}
  void forget() noexcept override;

private:
  // Then there is nothing to look at.
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
