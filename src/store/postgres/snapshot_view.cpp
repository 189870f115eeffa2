#include "store/postgres/snapshot_view.hpp"

#include <cstdlib>

namespace ackbox::store::postgres {

SnapshotView SnapshotView::now(Connection& connection, const std::string& table) {
  const Result result = connection.run(
      // OFFSET keeps the planner from looking for the greatest key from the table's end on.
      "SELECT pg_current_snapshot()::text, coalesce(pg_current_xact_id_if_assigned()::text,'0'), CASE WHEN "
      "pg_current_xact_id_if_assigned() IS NULL THEN 0 ELSE (SELECT coalesce(max(id),0) FROM (SELECT id FROM " +
      table + " WHERE xid=pg_current_xact_id_if_assigned() OFFSET 0) AS own) END");
  const Row row = result.front();
  return {row.text(0), row.text(1), row.integer(2)};
}

std::string SnapshotView::text() const {
  return snapshot + "/" + ownTransaction + "/" + std::to_string(ownKey);
}

SnapshotView SnapshotView::of(const std::string& text) {
  const std::size_t first = text.find('/');
  const std::size_t second = text.find('/', first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), std::atoll(text.c_str() + second + 1)};
}

// $1 key, $2 limit, $3 to $5 the view that is read (NULL: all that is visible now, outside a transaction), $6 to $8 the
// one that was seen.
std::string NewRowsSql::select(Rows rows, std::string_view columns, std::string_view joins,
                               std::string_view condition) const {
  std::string sql = std::string("SELECT ").append(columns).append(" FROM ");
  if (rows == Rows::fresh) {
    sql.append("#fresh_").append(table_).append("($6::pg_snapshot,$7::xid8) AS f(id) JOIN #").append(table_);
    sql.append(" AS ").append(row_).append(" ON ").append(row_).append(".id=f.id");
  } else {
    sql.append("#").append(table_).append(" AS ").append(row_);
  }
  sql.append(joins).append(" WHERE ").append(row_).append(".id>$1::bigint AND CASE WHEN ").append(row_);
  sql.append(".xid=$4::xid8 THEN ").append(row_).append(".id<=$5::bigint ELSE pg_visible_in_snapshot(").append(row_);
  sql.append(".xid,coalesce($3::pg_snapshot,pg_current_snapshot())) END");
  if (rows == Rows::further) {
    sql.append(" AND NOT pg_visible_in_snapshot(").append(row_).append(".xid,$6::pg_snapshot)");
  }
  if (rows != Rows::all) {
    sql.append(" AND NOT (").append(row_).append(".xid=$7::xid8 AND ").append(row_).append(".id<=$8::bigint)");
  }
  return sql.append(condition).append(" ORDER BY ").append(row_).append(".id LIMIT $2::bigint");
}

void NewRowsSql::add(Parameters& parameters, std::int64_t after, std::size_t limit, const SnapshotView& now,
                     const SnapshotView& seen) {
  parameters.add(after, limit, NullIfEmpty{now.snapshot}, now.ownTransaction, now.ownKey);
  if (!seen.snapshot.empty()) {
    parameters.add(seen.snapshot, seen.ownTransaction, seen.ownKey);
  }
}

}  // namespace ackbox::store::postgres
