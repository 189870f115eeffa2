#include <algorithm>
#include <utility>

#include "store/digest.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"

// Deletes expired marks, the sessions of closed stores, and all marks of one sender.

namespace ackbox::store::sqlite {
namespace {

/// The text that comes next after `text` in the order of bytes.
std::string following(std::string_view text) {
  return std::string(text).append(1, '\0');
}

}  // namespace

std::size_t InboundMarks::purge(std::size_t limit) {
  std::size_t purged = 0;
  for (Query query(purge_, context_.clock.wallNow(), limit); query.next(); ++purged) {
    const std::string source = query.text(0);
    context_.shares.add(source, -shareOfMark(source, query.view(1)));
  }
  return purged;
}

// Requires that another store began later: a clock that leaps ahead makes a store look silent for long, but does not
// make another store begin after it.
void InboundMarks::closeSilent(std::string_view source, WallTime now, std::chrono::milliseconds silence) {
  const std::size_t closed =
      Query(closeSilent_, source, now - silence - kSeenStep, now - kSeenStep, kSeenStep.count()).run();
  if (closed != 0) {
    origins_.clear();
  }
  sweep(source, kSweptEach);
}

// Takes the stores in turn, because waiting frames of one store may keep its sessions for long.
void InboundMarks::sweep(std::string_view source, std::size_t limit) {
  const auto known = sweeps_.find(source);
  SessionPlace place = known == sweeps_.end() ? SessionPlace() : known->second;
  bool isSecondRound = place.origin.empty();
  for (std::size_t left = limit; left > 0;) {
    std::string origin;
    if (Query query(selectClosing_, source, place.origin); query.next()) {
      origin = query.text(0);
    }
    if (origin.empty() && isSecondRound) {
      place = {};
      break;
    }
    if (origin.empty()) {
      isSecondRound = true;
      place = {};
      continue;
    }
    if (origin != place.origin) {
      place = {origin, {}};
    }
    const std::size_t looked = dropSessions(source, origin, place, left).looked;
    if (looked < left) {
      Query(closeSwept_, source, origin).run();
      place = {following(origin), {}};
    }
    // A store without sessions counts as one row.
    left -= std::max<std::size_t>(looked, 1);
  }
  if (!place.origin.empty()) {
    if (known == sweeps_.end() && sweeps_.size() >= kOriginsMax) {
      sweeps_.clear();
    }
    sweeps_.insert_or_assign(std::string(source), std::move(place));
  } else if (known != sweeps_.end()) {
    sweeps_.erase(known);
  }
}

InboundMarks::Slice InboundMarks::dropSessions(std::string_view source, std::optional<std::string_view> origin,
                                               SessionPlace& place, std::size_t limit) {
  // Writes the gathered marks, or they would outlive their sessions.
  flush();
  struct Found {
    std::int64_t key;
    std::string origin;
    std::string session;
  };
  Slice slice;
  std::vector<Found> toDrop;
  SessionPlace next = place;
  {
    Query query(selectSessions_, source, place.origin, place.session, origin, limit);
    for (; query.next(); ++slice.looked) {
      next = {query.text(1), following(query.view(2))};
      if (query.integer(3) == 0) {
        toDrop.push_back({query.integer(0), query.text(1), query.text(2)});
      }
    }
  }
  place = std::move(next);
  for (const Found& one : toDrop) {
    Query(dropSession_, one.key).run();
    context_.shares.add(source, -shareOfSession(source, one.origin, one.session));
    sessions_.erase(std::string(source).append("\n").append(one.origin).append("\n").append(one.session));
  }
  slice.dropped = toDrop.size();
  return slice;
}

ForgetReport InboundMarks::forgetSender(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit) {
  using Table = ForgetPlace::Table;
  ForgetReport report;
  for (std::size_t left = limit; left > 0 && !place.isAtEnd();) {
    const Table table = place.table;
    const bool isKept = context_.shares.of(source).marks > 0;
    std::size_t looked = 0;
    switch (table) {
      case Table::sessions:
        looked = forgetSessions(source, origin, place, left, report);
        break;
      case Table::origins:
        looked = forgetOrigins(source, origin, place, left, report);
        break;
      case Table::results:
        looked = isKept ? forgetResults(source, origin, place, left, report) : 0;
        break;
      case Table::marks:
        looked = isKept && !origin ? forgetMarks(source, place, left, report) : 0;
        break;
      case Table::none:
        break;
    }
    if (looked < left) {
      place = {};
      place.table = static_cast<Table>(static_cast<int>(table) + 1);
    }
    left -= looked;
  }
  origins_.clear();
  return report;
}

std::size_t InboundMarks::forgetSessions(std::string_view source, std::optional<std::string_view> origin,
                                         ForgetPlace& place, std::size_t limit, ForgetReport& report) {
  SessionPlace next{std::max(place.origin, std::string(origin.value_or(""))), place.session};
  const Slice slice = dropSessions(source, origin, next, limit);
  place.origin = std::move(next.origin);
  place.session = std::move(next.session);
  report.sessions += slice.dropped;
  report.kept += slice.looked - slice.dropped;
  return slice.looked;
}

// A store stays known while any of its sessions stays.
std::size_t InboundMarks::forgetOrigins(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit, ForgetReport& report) {
  std::vector<std::string> found;
  const std::string first = std::max(place.origin, std::string(origin.value_or("")));
  for (Query query(selectOrigins_, source, first, origin, limit); query.next();) {
    found.push_back(query.text(0));
  }
  for (const std::string& each : found) {
    if (Query(dropOrigin_, source, each).run() != 0) {
      context_.shares.add(source, -shareOfOrigin(source, each));
      ++report.origins;
    }
    place.origin = following(each);
  }
  return found.size();
}

std::size_t InboundMarks::forgetResults(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit, ForgetReport& report) {
  struct Found {
    ForgetPlace key;
    std::size_t texts;
  };
  std::size_t looked = 0;
  std::vector<Found> toDrop;
  ForgetPlace next = place;
  {
    Query query(selectResults_, place.id, place.source, place.origin, place.session, place.sequence, limit);
    for (; query.next(); ++looked) {
      Found found{place, query.as<std::size_t>(5)};
      Columns columns(query);
      columns >> found.key.id >> found.key.source >> found.key.origin >> found.key.session >> found.key.sequence;
      if (found.key.source == source && (!origin || found.key.origin == *origin)) {
        toDrop.push_back(found);
      }
      next = std::move(found.key);
    }
  }
  place = std::move(next);
  for (const auto& [key, texts] : toDrop) {
    Query(dropResult_, key.id, key.source, key.origin, key.session, key.sequence).run();
    context_.shares.add(source, -shareOfResult(source, key.origin, key.session, key.id, texts));
  }
  report.marks += toDrop.size();
  return looked;
}

std::size_t InboundMarks::forgetMarks(std::string_view source, ForgetPlace& place, std::size_t limit,
                                      ForgetReport& report) {
  std::size_t looked = 0;
  std::vector<std::string> toDrop;
  ForgetPlace next = place;
  {
    Query query(selectMarks_, place.id, place.source, limit);
    for (; query.next(); ++looked) {
      next.id = query.text(0);
      next.source = query.text(1);
      if (next.source == source) {
        toDrop.push_back(next.id);
      }
    }
  }
  place = std::move(next);
  for (const std::string& id : toDrop) {
    Query(dropMark_, id, source).run();
    context_.shares.add(source, -shareOfMark(source, id));
  }
  report.marks += toDrop.size();
  return looked;
}

}  // namespace ackbox::store::sqlite
