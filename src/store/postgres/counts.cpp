#include "store/postgres/counts.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::store::postgres {
namespace {

constexpr std::array<const char*, kCounts> kColumns = {
    "pending",           "sent",           "failed",          "pending_bytes",
    "enqueued",          "acked",          "failed_total",    "total_retries",
    "stale_settles",     "received",       "duplicates",      "gaps",
    "superseded",        "inbox",          "inbox_bytes",     "deferred",
    "refused_acks",      "retained",       "ack_latency_ms",  "refused_unauthenticated",
    "refused_forbidden", "refused_limits", "inbound_bytes",   "recounts",
    "stale_epochs",      "id_conflicts",   "last_acked_at_ms"};

constexpr std::size_t placeOf(Count count) {
  return static_cast<std::size_t>(count);
}

void merge(std::int64_t& into, std::size_t place, std::int64_t value) {
  into = place == placeOf(Count::lastAckedAt) ? std::max(into, value) : into + value;
}

Count countOf(MessageState state) {
  switch (state) {
    case MessageState::sent:
      return Count::sent;
    case MessageState::failed:
      return Count::failed;
    case MessageState::acked:
      return Count::retained;
    case MessageState::pending:
    case MessageState::sending:
      break;
  }
  return Count::pending;
}

std::string insertText() {
  std::string columns;
  std::string values;
  for (std::size_t place = 0; place < kCounts; ++place) {
    columns.append(",").append(kColumns.at(place));
    values.append(",$").append(std::to_string(place + 2));
  }
  return "INSERT INTO #counts(peer_id" + columns + ") VALUES($1" + values + ")";
}

}  // namespace

std::string sumsOfCounts() {
  std::string sums;
  for (std::size_t place = 0; place < kCounts; ++place) {
    sums.append(place == 0 ? "" : ",")
        .append(place == placeOf(Count::lastAckedAt) ? "coalesce(max(" : "coalesce(sum(")
        .append(kColumns.at(place))
        .append("),0)");
  }
  return sums;
}

CountValues countsOf(const Row& row, int firstColumn) {
  CountValues values{};
  for (std::size_t place = 0; place < kCounts; ++place) {
    values.at(place) = row.integer(firstColumn + static_cast<int>(place));
  }
  return values;
}

namespace {

template <typename Figures>
void fillInShared(Figures& figures, const CountValues& values, std::uint64_t sending) {
  const auto at = [&values](Count count) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, values.at(placeOf(count))));
  };
  figures.sending = std::min(sending, at(Count::pending));
  figures.pending = at(Count::pending) - figures.sending;
  figures.sent = at(Count::sent);
  figures.failed = at(Count::failed);
  figures.pendingBytes = at(Count::pendingBytes);
  figures.enqueued = at(Count::enqueued);
  figures.acked = at(Count::acked);
  figures.failedTotal = at(Count::failedTotal);
  figures.totalRetries = at(Count::totalRetries);
}

}  // namespace

void fillIn(PeerStats& stats, const CountValues& values, std::uint64_t sending) {
  fillInShared(stats, values, sending);
}

Stats toStats(const CountValues& values, std::uint64_t sending) {
  const auto at = [&values](Count count) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, values.at(placeOf(count))));
  };
  Stats stats;
  fillInShared(stats, values, sending);
  stats.staleSettles = at(Count::staleSettles);
  stats.superseded = at(Count::superseded);
  stats.received = at(Count::received);
  stats.duplicates = at(Count::duplicates);
  stats.gaps = at(Count::gaps);
  stats.refusedUnauthenticated = at(Count::refusedUnauthenticated);
  stats.refusedForbidden = at(Count::refusedForbidden);
  stats.staleEpochs = at(Count::staleEpochs);
  stats.idConflicts = at(Count::idConflicts);
  stats.refusedLimits = at(Count::refusedLimits);
  stats.inboundBytes = at(Count::inboundBytes);
  stats.recounts = at(Count::recounts);
  stats.inbox = at(Count::inbox);
  stats.inboxBytes = at(Count::inboxBytes);
  stats.deferred = at(Count::deferred);
  stats.refusedAcks = at(Count::refusedAcks);
  stats.ackedRetained = at(Count::retained);
  stats.enqueueToAck.count = stats.acked;
  if (stats.acked != 0) {
    stats.enqueueToAck.average = std::chrono::milliseconds(at(Count::ackLatency) / stats.acked);
  }
  if (at(Count::lastAckedAt) != 0) {
    stats.lastAckedAt = instantOf(values.at(placeOf(Count::lastAckedAt)));
  }
  return stats;
}

std::int64_t Counts::value(Count count) {
  if (!isKnown_) {
    static const std::string kSelect = "SELECT " + sumsOfCounts() + " FROM #counts";
    flush();
    // Includes what this transaction has written.
    base_ = countsOf(connection_.run(kSelect).front(), 0);
    for (std::size_t place = 0; place < kCounts; ++place) {
      if (place != placeOf(Count::lastAckedAt)) {
        base_.at(place) -= own_.at(place);
      }
    }
    isKnown_ = true;
    isRecent_ = true;
  }
  return base_.at(placeOf(count)) + own_.at(placeOf(count));
}

Fill Counts::fill() {
  const auto at = [this](Count count) { return std::max<std::int64_t>(0, value(count)); };
  return {static_cast<std::uint64_t>(at(Count::pending) + at(Count::sent)),
          static_cast<std::uint64_t>(at(Count::pendingBytes))};
}

Counts& Counts::recent(SteadyTime now) noexcept {
  constexpr std::chrono::seconds kRecent(1);
  if (isRecent_ && now - readAt_ < kRecent) {
    isKnown_ = true;
  } else if (!isKnown_) {
    readAt_ = now;
  }
  return *this;
}

void Counts::add(delivery::PeerKey peer, Count count, std::int64_t difference) {
  if (difference != 0) {
    merge(changes_[peer].at(placeOf(count)), placeOf(count), difference);
    merge(own_.at(placeOf(count)), placeOf(count), difference);
  }
}

void Counts::addRows(delivery::PeerKey peer, MessageState state, std::int64_t rows, std::int64_t bytes) {
  add(peer, countOf(state), rows);
  if (state != MessageState::failed && state != MessageState::acked) {
    add(peer, Count::pendingBytes, rows < 0 ? -bytes : bytes);
  }
}

void Counts::acknowledged(delivery::PeerKey peer, WallTime enqueuedAt, WallTime now) {
  add(peer, Count::acked, 1);
  add(peer, Count::ackLatency, std::max<std::int64_t>(0, (now - enqueuedAt).count()));
  add(peer, Count::lastAckedAt, millis(now));
}

void Counts::flush() {
  static const std::string kInsert = insertText();
  for (const auto& [peer, values] : changes_) {
    Parameters parameters(peer);
    for (const std::int64_t value : values) {
      parameters.add(value);
    }
    connection_.postWith(kInsert, parameters);
    ++writes_;
  }
  changes_.clear();
  if (folds_ && writes_ >= kWritesMax) {
    connection_.post("SELECT #fold()");
    writes_ = 0;
  }
}

void Counts::foldIfMany() {
  // Of more rows than peers, because each peer has one at least.
  connection_.post(
      "SELECT #fold() FROM (SELECT count(*) AS rows,count(DISTINCT peer_id) AS peers FROM #counts) AS c WHERE "
      "c.rows>c.peers+$1::bigint",
      kWritesMax);
}

void Counts::committed() noexcept {
  for (std::size_t place = 0; place < kCounts; ++place) {
    merge(base_.at(place), place, own_.at(place));
  }
  own_ = {};
  scopes_.clear();
}

void Counts::rolledBack() noexcept {
  changes_.clear();
  own_ = {};
  scopes_.clear();
  isKnown_ = false;
  isRecent_ = false;
}

void Counts::scopeUndone() noexcept {
  changes_.clear();
  own_ = scopes_.back();
  scopes_.pop_back();
  isKnown_ = false;
}

}  // namespace ackbox::store::postgres
