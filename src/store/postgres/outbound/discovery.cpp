#include "store/postgres/outbound/discovery.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <tuple>
#include <utility>

namespace ackbox::store::postgres {
namespace {

// One statement says what is visible to it, and what of that is new. Its orders are no older than its rows: so no row
// is discovered without the holds that were set before it.
std::string selectNew(NewRowsSql::Rows which) {
  const NewRowsSql rows("outbox", "o");
  return "SELECT v.snapshot,v.orders,n.* FROM (SELECT coalesce($3::pg_snapshot,pg_current_snapshot())::text AS "
         "snapshot,(SELECT orders FROM #meta) AS orders) AS v LEFT JOIN (" +
         rows.select(
             which,
             "o.id,o.session_id,o.state,o.due_at_ms AS row_due_at_ms,s.priority,s.peer_id,s.name,s.lane,m.due_at_ms",
             " JOIN #sessions AS s ON s.id=o.session_id JOIN #session_states AS m ON m.session_id=o.session_id",
             " AND o.state IN (0,2)") +
         ") AS n ON true ORDER BY n.id";
}

}  // namespace

store::NewRows Discovery::take(std::size_t limit) {
  store::NewRows found;
  const auto before = std::pair(scanned_, lastTaken_);
  try {
    while (found.rows.size() < limit && (hasNews_ || !scanned_.snapshot.empty())) {
      scan(limit, found);
      if (found.more) {
        break;
      }
    }
  } catch (...) {
    // The exception loses the found rows: the next call takes them again.
    for (const delivery::SessionInfo& session : found.sessions) {
      sessions_.erase(session.key);
    }
    std::tie(scanned_, lastTaken_) = before;
    hasNews_ = true;
    throw;
  }
  if (caughtUp_ && std::exchange(recallsHanded_, context_.recallsDiscovered) != context_.recallsDiscovered) {
    found.recalls = context_.recallsDiscovered;
  }
  try {
    found.holds = holds_.takeChanged();
  } catch (const std::exception&) {
    // The rows are taken; the next call takes the holds.
    holds_.restart();
  }
  return found;
}

void Discovery::scan(std::size_t limit, store::NewRows& found) {
  const bool isContinued = !scanned_.snapshot.empty();
  if (!isContinued) {
    lastTaken_ = 0;
    hasNews_ = false;
  }
  const bool hasSeen = !seen_.snapshot.empty();
  static const std::string kAll = selectNew(NewRowsSql::Rows::all);
  static const std::string kFresh = selectNew(NewRowsSql::Rows::fresh);
  static const std::string kFurther = selectNew(NewRowsSql::Rows::further);
  const std::size_t before = found.rows.size();
  Parameters parameters;
  NewRowsSql::add(parameters, lastTaken_, limit - before, scanned_, seen_);
  const std::string& sql = !hasSeen ? kAll : isContinued ? kFurther : kFresh;
  const Result result = context_.connection.runWith(sql, parameters);
  scanned_.snapshot = result.front().text(0);
  holds_.noteOrders(result.front().integer(1));
  for (const Row& row : result) {
    if (row.isNull(2)) {
      break;
    }
    delivery::RowSeen& one = found.rows.emplace_back();
    one.key = row.integer(2);
    one.session = row.integer(3);
    one.state = row.as<MessageState>(4);
    one.dueAt = row.instant(5);
    lastTaken_ = one.key;
    context_.oldestKey = std::min(context_.oldestKey, one.key);
    introduce(row, found, one);
  }
  found.more = found.rows.size() == limit;
  if (!found.more) {
    seen_ = std::exchange(scanned_, {});
    caughtUp_ = true;
    context_.recallsDiscovered = recalls_;
  }
}

void Discovery::introduce(const Row& row, store::NewRows& found, delivery::RowSeen& seen) {
  const auto [known, isNew] = sessions_.try_emplace(seen.session, row.view(8));
  if (isNew) {
    found.sessions.push_back({.key = seen.session,
                              .peer = row.integer(7),
                              .dueAt = row.instant(10),
                              .priority = row.as<std::uint8_t>(6),
                              .unordered = row.integer(9) != 0,
                              .name = known->second});
  } else if (caughtUp_) {
    seen.priority = row.as<std::uint8_t>(6);
  }
}

void Discovery::restart() noexcept {
  sessions_.clear();
  recallsHanded_ = 0;
  startOver(recalls_);
  holds_.restart();
}

void Discovery::startOver(std::int64_t recalls) noexcept {
  recalls_ = recalls;
  seen_ = {};
  scanned_ = {};
  lastTaken_ = 0;
  caughtUp_ = false;
  hasNews_ = true;
}

const std::string& Discovery::sessionName(delivery::SessionKey key) const {
  static const std::string unknown;
  const auto known = sessions_.find(key);
  return known == sessions_.end() ? unknown : known->second;
}

}  // namespace ackbox::store::postgres
