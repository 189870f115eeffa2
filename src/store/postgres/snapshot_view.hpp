#pragma once

#include <cstdint>
#include <string>

#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

/// The rows of a table that a reader had seen at an instant: those of transactions that were over, and of its own
/// transaction under way those up to a key. Two views differ by the rows that are new, whatever their keys, and however
/// late an earlier key was committed.
///
/// Source: PgQ, whose events are found by the same difference of snapshots.
struct SnapshotView {
  /// Empty: nothing was seen.
  std::string snapshot = {};
  std::string ownTransaction = "0";
  std::int64_t ownKey = 0;

  /// All that is visible now. `table`: with the columns `id` and `xid`.
  [[nodiscard]] static SnapshotView now(Connection& connection, const std::string& table);
  [[nodiscard]] bool operator==(const SnapshotView&) const = default;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] static SnapshotView of(const std::string& text);
};

/// SQL, a condition on `row.xid` and `row.id`: the row is in the view $2 $3 $4, and not in the view $5 $6 $7; each is a
/// snapshot, a transaction and a key, and $5 may be NULL.
[[nodiscard]] std::string isNewIn(const std::string& row);

}  // namespace ackbox::store::postgres
