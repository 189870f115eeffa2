#include "store/sqlite/outbound/discovery.hpp"

#include <exception>
#include <new>
#include <utility>

#include "store/sqlite/outbound/row_checksum.hpp"

namespace ackbox::store::sqlite {
namespace {

// If no rows are taken (a manager that was not started), more are not kept in memory: they are in the file.
constexpr std::size_t kPublishedRowsMax = 100'000;

}  // namespace

Discovery::Discovery(Context& context, Transaction& transaction, Holds& holds)
    : context_(context),
      transaction_(transaction),
      holds_(holds),
      scan_(context.prepare("SELECT id,session_id,state,due_at_ms FROM #outbox WHERE id>?1 ORDER BY id LIMIT ?2")),
      selectSession_(context.prepare(
          std::string("SELECT s.peer_id,s.name,m.due_at_ms,s.priority,s.lane,")
              .append(kSessionDiffers)
              .append(" FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id WHERE s.id=?1"))) {}

void Discovery::publish(const std::vector<delivery::RowSeen>& rows) noexcept {
  if (!listening_) {
    return;
  }
  try {
    if (published_.size() + rows.size() <= kPublishedRowsMax) {
      published_.insert(published_.end(), rows.begin(), rows.end());
      return;
    }
  } catch (const std::bad_alloc&) {
    // The rows are committed, so `rescan` reads them from the file.
  }
  rescan();
}

NewRows Discovery::take(std::size_t limit) {
  NewRows found = takeRows(limit);
  found.damaged = std::exchange(context_.damagedSessions, {});
  try {
    // Read after the rows, so that no row is discovered without the holds that were set before it.
    if (hasScanned_) {
      holds_.refresh();
    }
    found.holds = holds_.takeChanged();
  } catch (const std::exception&) {
    // The rows are taken; the next call takes the holds.
    holds_.restart();
  }
  return found;
}

NewRows Discovery::takeRows(std::size_t limit) {
  NewRows found;
  const delivery::MessageKey before = lastTaken_;
  try {
    // Taken before the rows: a commit in between is read now and looked for once more. Reading the version from the
    // file would take two locks per commit of this store.
    const std::int64_t version = transaction_.seenVersion();
    hasScanned_ = version != scannedVersion_ || !(published_.empty() || published_.front().key == lastTaken_ + 1);
    if (!hasScanned_) {
      takePublished(limit, found);
    } else {
      scan(limit, found);
      scannedVersion_ = found.more ? -1 : version;
    }
    if (caughtUp_ && std::exchange(recallsHanded_, context_.recallsDiscovered) != context_.recallsDiscovered) {
      found.recalls = context_.recallsDiscovered;
    }
    return found;
  } catch (...) {
    // The exception loses the found rows: the next call takes them again.
    for (const delivery::SessionInfo& session : found.sessions) {
      sessions_.erase(session.key);
    }
    lastTaken_ = before;
    rescan();
    throw;
  }
}

void Discovery::stop() noexcept {
  listening_ = false;
  rescan();
}

void Discovery::restart() noexcept {
  listening_ = true;
  lastTaken_ = 0;
  recallsHanded_ = 0;
  caughtUp_ = false;
  sessions_.clear();
  passedOver_.clear();
  rescan();
  holds_.restart();
}

// Known sessions stay known.
void Discovery::startOver(std::int64_t recalls) noexcept {
  recalls_ = recalls;
  lastTaken_ = 0;
  caughtUp_ = false;
  rescan();
}

const std::string& Discovery::sessionName(delivery::SessionKey key) const {
  static const std::string unknown;
  const auto known = sessions_.find(key);
  return known == sessions_.end() ? unknown : known->second;
}

void Discovery::takePublished(std::size_t limit, NewRows& found) {
  while (!published_.empty() && found.rows.size() < limit && published_.front().key == lastTaken_ + 1) {
    const delivery::RowSeen row = published_.front();
    if (introduce(row.session, found)) {
      found.rows.push_back(row);
    }
    published_.pop_front();
    lastTaken_ = row.key;
  }
  found.more = !published_.empty();
}

void Discovery::scan(std::size_t limit, NewRows& found) {
  std::size_t examined = 0;
  std::unordered_map<delivery::SessionKey, std::uint8_t> priorities;
  delivery::MessageKey last = lastTaken_;
  Query query(scan_, lastTaken_, limit);
  for (; query.next(); ++examined) {
    last = query.integer(0);
    delivery::RowSeen row{last, query.integer(1), query.as<MessageState>(2), query.instant(3), {}};
    if (row.state == MessageState::acked || row.state == MessageState::failed) {
      continue;
    }
    if (row.state != MessageState::sent) {
      row.state = MessageState::pending;
    }
    const std::optional<bool> isNew = introduce(row.session, found);
    if (!isNew) {
      continue;
    }
    if (!*isNew && caughtUp_) {
      // Other connections' enqueues may have changed the priority. Not read during the backlog, in which each session
      // is introduced with its latest priority.
      row.priority = priorityOf(row.session, priorities);
    }
    found.rows.push_back(row);
  }
  lastTaken_ = last;
  found.more = examined == limit;
  if (!found.more) {
    caughtUp_ = true;
    context_.recallsDiscovered = recalls_;
  }
  while (!published_.empty() && published_.front().key <= lastTaken_) {
    published_.pop_front();
  }
}

void Discovery::rescan() noexcept {
  published_.clear();
  scannedVersion_ = -1;
}

std::optional<bool> Discovery::introduce(delivery::SessionKey key, NewRows& found) {
  if (sessions_.contains(key)) {
    return false;
  }
  if (passedOver_.contains(key)) {
    return std::nullopt;
  }
  const SessionRow* const row = context_.claimCache.session(key);
  const SessionState* const state = context_.states.known(key);
  std::optional<delivery::SessionInfo> info = row != nullptr && state != nullptr && !row->isDamaged
                                                  ? delivery::SessionInfo{.key = key,
                                                                          .peer = row->peer,
                                                                          .dueAt = state->dueAt,
                                                                          .priority = row->priority,
                                                                          .unordered = row->isUnordered,
                                                                          .name = row->name}
                                                  : read(key);
  if (!info) {
    passedOver_.insert(key);
    context_.damagedSessions.push_back(key);
    return std::nullopt;
  }
  sessions_.emplace(key, info->name);
  found.sessions.push_back(*std::move(info));
  return true;
}

std::optional<delivery::SessionInfo> Discovery::read(delivery::SessionKey key) {
  Query query(selectSession_, key);
  if (!query.next() || query.integer(5) != 0) {
    return std::nullopt;
  }
  return delivery::SessionInfo{.key = key,
                               .peer = query.integer(0),
                               .dueAt = query.instant(2),
                               .priority = query.as<std::uint8_t>(3),
                               .unordered = query.integer(4) != 0,
                               .name = query.text(1)};
}

std::uint8_t Discovery::priorityOf(delivery::SessionKey key,
                                   std::unordered_map<delivery::SessionKey, std::uint8_t>& read) {
  const auto [place, isNew] = read.try_emplace(key, kPriorityDefault);
  if (isNew) {
    if (Query query(selectSession_, key); query.next()) {
      place->second = query.as<std::uint8_t>(3);
    }
  }
  return place->second;
}

}  // namespace ackbox::store::sqlite
