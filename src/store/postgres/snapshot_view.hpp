#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

/// SQL for the rows of `table` that are new: its name there is `row`.
class NewRowsSql {
public:
  NewRowsSql(std::string table, std::string row) : table_(std::move(table)), row_(std::move(row)) {}

  enum class Rows : std::uint8_t {
    /// For a reader that has seen nothing.
    all,
    /// Those that the reader's snapshot did not have, each found by its transaction.
    fresh,
    /// The same, found by their keys: for a reader that goes on from the last one of them. From there on, few rows are
    /// not new; to find all that are new would be once for each of its calls.
    further,
  };

  /// `columns`, in the order of keys, of new rows with a key above `after` that meet `condition`; `joins` may be empty.
  [[nodiscard]] std::string select(Rows rows, std::string_view columns, std::string_view joins = {},
                                   std::string_view condition = {}) const;
  /// The parameters of `select`. `seen` without a snapshot: nothing was seen; `now`: all that the statement itself
  /// sees, outside a transaction.
  static void add(Parameters& parameters, std::int64_t after, std::size_t limit, const SnapshotView& now,
                  const SnapshotView& seen);

private:
  std::string table_;
  std::string row_;
};

}  // namespace ackbox::store::postgres
