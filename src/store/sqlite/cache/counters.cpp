#include "store/sqlite/cache/counters.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace ackbox::store::sqlite {
namespace {

// The number of sessions for which the peer is remembered: about 4 MB.
constexpr std::size_t kKnownSessionsMax = 100'000;

constexpr std::array<const char*, kCounterCount> kCounterNames = {"pending",
                                                                  "sent",
                                                                  "failed",
                                                                  "pending_bytes",
                                                                  "enqueued",
                                                                  "acked",
                                                                  "failed_total",
                                                                  "total_retries",
                                                                  "stale_settles",
                                                                  "received",
                                                                  "duplicates",
                                                                  "gaps",
                                                                  "inbox",
                                                                  "deferred",
                                                                  "refused_acks",
                                                                  "refused_unauthenticated",
                                                                  "refused_forbidden",
                                                                  "retained",
                                                                  "ack_latency_ms",
                                                                  "last_acked_at_ms",
                                                                  "oldest_key",
                                                                  "superseded",
                                                                  "stale_epochs",
                                                                  "id_conflicts",
                                                                  "last_key",
                                                                  "tails_key",
                                                                  "refused_limits",
                                                                  "inbound_bytes",
                                                                  "inbox_bytes",
                                                                  "recounts"};

std::string selectText() {
  std::string columns;
  for (const char* name : kCounterNames) {
    columns += (columns.empty() ? "" : ",") + std::string(name);
  }
  return "SELECT " + columns + " FROM #counters";
}

std::string updateText() {
  std::string assignments;
  for (const char* name : kCounterNames) {
    assignments.append(assignments.empty() ? "" : ",").append(name).append("=?");
  }
  return "UPDATE #counters SET " + assignments + " WHERE id=1";
}

std::string updatePeerText() {
  std::string assignments;
  for (std::size_t index = 0; index < kPeerCounterCount; ++index) {
    const char* name = kCounterNames[index];
    assignments.append(index == 0 ? "" : ",").append(name).append("=").append(name).append("+?");
  }
  return "UPDATE #peer_counters SET " + assignments + " WHERE peer_id=?";
}

std::size_t indexOf(Counter counter) {
  return static_cast<std::size_t>(counter);
}

bool isLive(MessageState state) {
  return state == MessageState::pending || state == MessageState::sending || state == MessageState::sent;
}

// Only foreign statements can make a gauge negative.
bool hasNegativeGauge(const CounterValues& values) {
  constexpr Counter kGauges[] = {Counter::pending,  Counter::sent,  Counter::failed,       Counter::pendingBytes,
                                 Counter::retained, Counter::inbox, Counter::inboundBytes, Counter::inboxBytes};
  return std::ranges::any_of(kGauges, [&values](Counter gauge) { return values[indexOf(gauge)] < 0; });
}

// For a live state.
Counter gaugeOf(MessageState state) {
  return state == MessageState::sent ? Counter::sent : Counter::pending;
}

}  // namespace

Stats toStats(const CounterValues& values, std::uint64_t sending) {
  // Foreign statements may leave a gauge below 0 until the next recount.
  const auto at = [&values](Counter counter) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, values[indexOf(counter)]));
  };
  Stats stats;
  readPeerCounters(stats, at, sending);
  stats.staleSettles = at(Counter::staleSettles);
  stats.received = at(Counter::received);
  stats.duplicates = at(Counter::duplicates);
  stats.gaps = at(Counter::gaps);
  stats.inbox = at(Counter::inbox);
  stats.deferred = at(Counter::deferred);
  stats.refusedAcks = at(Counter::refusedAcks);
  stats.refusedUnauthenticated = at(Counter::refusedUnauthenticated);
  stats.refusedForbidden = at(Counter::refusedForbidden);
  stats.ackedRetained = at(Counter::retained);
  if (const std::int64_t last = values[indexOf(Counter::lastAckedAt)]; last != 0) {
    stats.lastAckedAt = instantOf(last);
  }
  LatencyStats& latency = stats.enqueueToAck;
  latency.count = stats.acked;
  if (latency.count != 0) {
    latency.average = std::chrono::milliseconds(at(Counter::ackLatency) / latency.count);
  }
  stats.superseded = at(Counter::superseded);
  stats.staleEpochs = at(Counter::staleEpochs);
  stats.idConflicts = at(Counter::idConflicts);
  stats.refusedLimits = at(Counter::refusedLimits);
  stats.inboundBytes = at(Counter::inboundBytes);
  stats.inboxBytes = at(Counter::inboxBytes);
  stats.recounts = at(Counter::recounts);
  return stats;
}

std::string peerCounterColumns() {
  std::string columns;
  for (std::size_t index = 0; index < kPeerCounterCount; ++index) {
    columns.append(index == 0 ? "" : ",").append(kCounterNames[index]);
  }
  return columns;
}

Counters::Counters(sqlite3* connection, std::string_view prefix)
    : select_(connection, selectText(), prefix),
      update_(connection, updateText(), prefix),
      selectUncounted_(connection,
                       "SELECT s.peer_id,count(*),sum(length(o.data)),max(o.id) FROM #outbox AS o LEFT JOIN #sessions "
                       "AS s ON s.id=o.session_id WHERE o.id>?1 GROUP BY s.peer_id",
                       prefix),
      updatePeer_(connection, updatePeerText(), prefix),
      selectPeer_(connection, "SELECT peer_id FROM #sessions WHERE id=?1", prefix) {}

std::int64_t Counters::value(Counter counter) {
  load();
  return base_[indexOf(counter)] + changes_.values[indexOf(counter)];
}

std::uint64_t Counters::live() {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value(Counter::pending) + value(Counter::sent)));
}

std::uint64_t Counters::liveBytes() {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value(Counter::pendingBytes)));
}

std::int64_t Counters::writtenLastKey() {
  load();
  return base_[indexOf(Counter::lastKey)];
}

CounterValues Counters::values() {
  load();
  CounterValues sum = base_;
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    sum[index] += changes_.values[index];
  }
  return sum;
}

void Counters::add(Counter counter, std::int64_t difference) {
  changes_.values[indexOf(counter)] += difference;
  changes_.isUrgent = true;
}

void Counters::note(Counter counter, std::int64_t difference) {
  changes_.values[indexOf(counter)] += difference;
}

bool Counters::add(delivery::SessionKey session, Counter counter, std::int64_t difference) {
  add(counter, difference);
  const delivery::PeerKey peer = peerOf(session);
  if (peer != 0) {
    changes_.peers[peer][indexOf(counter)] += difference;
  }
  return peer != 0;
}

void Counters::subtractRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes) {
  addRows(session, state, -rows, -bytes);
}

void Counters::addRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes) {
  if (isLive(state)) {
    add(session, gaugeOf(state), rows);
    if (add(session, Counter::pendingBytes, bytes)) {
      changes_.sessions[session].live += rows;
    }
  } else if (state == MessageState::failed) {
    if (add(session, Counter::failed, rows)) {
      changes_.sessions[session].failed += rows;
    }
  } else {
    add(Counter::retained, rows);
  }
}

void Counters::append(delivery::PeerKey peer, std::int64_t bytes) {
  PeerCounterValues& ofPeer = changes_.peers[peer];
  for (const auto& [counter, difference] :
       {std::pair(Counter::pending, std::int64_t{1}), std::pair(Counter::pendingBytes, bytes),
        std::pair(Counter::enqueued, std::int64_t{1})}) {
    changes_.values[indexOf(counter)] += difference;
    ofPeer[indexOf(counter)] += difference;
  }
  ++changes_.values[indexOf(Counter::lastKey)];
  ++changes_.uncounted;
}

void Counters::move(delivery::SessionKey session, MessageState from, MessageState to) {
  if (gaugeOf(from) != gaugeOf(to)) {
    add(session, gaugeOf(from), -1);
    add(session, gaugeOf(to), 1);
  }
}

void Counters::acknowledged(WallTime enqueuedAt, WallTime now) {
  // The difference is negative if the clock was set back between enqueue and ACK.
  add(Counter::ackLatency, std::max(now - enqueuedAt, std::chrono::milliseconds(0)).count());
  add(Counter::lastAckedAt, millis(now) - value(Counter::lastAckedAt));
}

std::vector<delivery::SessionKey> Counters::changedSessions() const {
  std::vector<delivery::SessionKey> sessions;
  sessions.reserve(changes_.sessions.size());
  for (const auto& [session, change] : changes_.sessions) {
    sessions.push_back(session);
  }
  return sessions;
}

Counters::SessionChange Counters::takeSession(delivery::SessionKey session) {
  const auto found = changes_.sessions.find(session);
  if (found == changes_.sessions.end()) {
    return {};
  }
  const SessionChange change = found->second;
  changes_.sessions.erase(found);
  return change;
}

void Counters::scopeUndone() noexcept {
  changes_ = std::move(scopes_.back());
  scopes_.pop_back();
  peers_.clear();
}

PeerCounterValues Counters::uncountedOf(delivery::PeerKey peer) {
  load();
  const auto found = changes_.peers.find(peer);
  return found == changes_.peers.end() ? PeerCounterValues{} : found->second;
}

void Counters::flush() {
  if (changes_.isUrgent || changes_.uncounted >= kUncountedMax) {
    flushAll();
  }
}

void Counters::flushAll() {
  if (!isPending()) {
    return;
  }
  base_ = values();
  isDoubtful_ = isDoubtful_ || hasNegativeGauge(base_);
  Query(update_, std::span<const std::int64_t>(base_)).run();
  for (const auto& [peer, values] : changes_.peers) {
    if (peersCount_) {
      Query updatePeer(updatePeer_, std::span<const std::int64_t>(values));
      updatePeer.add(peer);
      // 0 is the peer of a missing session.
      peersCount_ = updatePeer.run() != 0 || peer == 0;
    }
  }
  requireInvariant(changes_.sessions.empty(), "counters: a session's gauges were not taken over");
  changes_ = {};
  if (peers_.size() > kKnownSessionsMax) {
    peers_.clear();
  }
}

void Counters::forget() noexcept {
  changes_ = {};
  scopes_.clear();
  loaded_ = false;
  isDoubtful_ = false;
  peersCount_ = true;
  peers_.clear();
}

void Counters::load() {
  if (loaded_) {
    return;
  }
  Query query(select_);
  if (!query.next()) {
    throw Error(Errc::databaseCorrupt, "the counters row is missing");
  }
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    base_[index] = query.integer(static_cast<int>(index));
  }
  constexpr std::int64_t kLastKeyMax = std::int64_t{1} << 62U;
  const std::int64_t lastKey = base_[indexOf(Counter::lastKey)];
  if (lastKey < 0 || lastKey > kLastKeyMax) {
    throw Error(Errc::databaseCorrupt, "the counters' last_key is " + std::to_string(lastKey) +
                                           ", which leaves no number for the next message: ackbox repair FILE");
  }
  loaded_ = true;
  isDoubtful_ = isDoubtful_ || hasNegativeGauge(base_);
  count();
}

void Counters::count() {
  std::int64_t last = base_[indexOf(Counter::lastKey)];
  for (Query query(selectUncounted_, last); query.next();) {
    PeerCounterValues& ofPeer = changes_.peers[query.integer(0)];
    for (const auto& [counter, column] :
         {std::pair(Counter::pending, 1), std::pair(Counter::enqueued, 1), std::pair(Counter::pendingBytes, 2)}) {
      changes_.values[indexOf(counter)] += query.integer(column);
      ofPeer[indexOf(counter)] += query.integer(column);
    }
    changes_.uncounted += query.integer(1);
    last = std::max(last, query.integer(3));
  }
  changes_.values[indexOf(Counter::lastKey)] += last - base_[indexOf(Counter::lastKey)];
}

delivery::PeerKey Counters::peerOf(delivery::SessionKey session) {
  if (const auto known = peers_.find(session); known != peers_.end()) {
    return known->second;
  }
  Query query(selectPeer_, session);
  const delivery::PeerKey peer = query.next() ? query.integer(0) : 0;
  if (peer != 0) {
    peers_.emplace(session, peer);
  }
  return peer;
}

}  // namespace ackbox::store::sqlite
