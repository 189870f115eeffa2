#include "store/postgres/snapshot_view.hpp"

#include <cstdlib>

namespace ackbox::store::postgres {

SnapshotView SnapshotView::now(Connection& connection, const std::string& table) {
  const Result result = connection.run(
      "SELECT pg_current_snapshot()::text, coalesce(pg_current_xact_id_if_assigned()::text,'0'), (SELECT "
      "coalesce(max(id),0) FROM " +
      table + " WHERE xid=pg_current_xact_id_if_assigned())");
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

std::string isNewIn(const std::string& row) {
  return "(CASE WHEN " + row + ".xid=$3::xid8 THEN " + row + ".id<=$4::bigint ELSE pg_visible_in_snapshot(" + row +
         ".xid,$2::pg_snapshot) END) AND ($5::pg_snapshot IS NULL OR ((" + row +
         ".xid>=pg_snapshot_xmax($5::pg_snapshot) OR " + row +
         ".xid=ANY(ARRAY(SELECT pg_snapshot_xip($5::pg_snapshot))) OR " + row + ".xid=$6::xid8) AND NOT (" + row +
         ".xid=$6::xid8 AND " + row + ".id<=$7::bigint)))";
}

}  // namespace ackbox::store::postgres
