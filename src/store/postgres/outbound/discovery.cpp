#include "store/postgres/outbound/discovery.hpp"

#include <exception>
#include <tuple>
#include <utility>

namespace ackbox::store::postgres {

store::NewRows Discovery::take(std::size_t limit) {
  store::NewRows found;
  const bool hasNews = hasNews_;
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
    // Read after the rows, so that no row is discovered without the holds that were set before it.
    if (hasNews) {
      holds_.refresh();
    }
    found.holds = holds_.takeChanged();
  } catch (const std::exception&) {
    // The rows are taken; the next call takes the holds.
    holds_.restart();
  }
  return found;
}

void Discovery::scan(std::size_t limit, store::NewRows& found) {
  if (scanned_.snapshot.empty()) {
    scanned_ = SnapshotView::now(context_.connection, "#outbox");
    lastTaken_ = 0;
    hasNews_ = false;
    if (scanned_ == seen_) {
      scanned_ = {};
      return;
    }
  }
  static const NewRowsSql kNewRows("outbox", "o");
  constexpr std::string_view kNewColumns =
      "o.id,o.session_id,o.state,o.due_at_ms,m.priority,s.peer_id,s.name,s.lane,m.due_at_ms";
  constexpr std::string_view kNewJoins =
      " JOIN #sessions AS s ON s.id=o.session_id JOIN #session_states AS m ON m.session_id=o.session_id";
  static const std::string kAll = kNewRows.select(kNewColumns, kNewJoins, " AND o.state IN (0,2)", false);
  static const std::string kFresh = kNewRows.select(kNewColumns, kNewJoins, " AND o.state IN (0,2)", true);
  const std::size_t wanted = limit - found.rows.size();
  Parameters parameters;
  NewRowsSql::add(parameters, lastTaken_, wanted, scanned_, seen_);
  const Result result = context_.connection.runWith(seen_.snapshot.empty() ? kAll : kFresh, parameters);
  for (const Row& row : result) {
    delivery::RowSeen& one = found.rows.emplace_back();
    one.key = row.integer(0);
    one.session = row.integer(1);
    one.state = row.as<MessageState>(2);
    one.dueAt = row.instant(3);
    lastTaken_ = one.key;
    introduce(row, found, one);
  }
  found.more = result.size() == wanted;
  if (!found.more) {
    seen_ = std::exchange(scanned_, {});
    caughtUp_ = true;
    context_.recallsDiscovered = recalls_;
  }
}

void Discovery::introduce(const Row& row, store::NewRows& found, delivery::RowSeen& seen) {
  const auto [known, isNew] = sessions_.try_emplace(seen.session, row.view(6));
  if (isNew) {
    found.sessions.push_back({.key = seen.session,
                              .peer = row.integer(5),
                              .dueAt = row.instant(8),
                              .priority = row.as<std::uint8_t>(4),
                              .unordered = row.integer(7) != 0,
                              .name = known->second});
  } else if (caughtUp_) {
    seen.priority = row.as<std::uint8_t>(4);
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
