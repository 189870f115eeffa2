#include "store/counters.hpp"

#include <string>
#include <utility>

namespace ackbox::store {
namespace {

constexpr std::array<const char*, kCounterCount> kCounterNames = {
    "pending", "sending",      "sent",          "failed",        "pending_bytes", "enqueued",
    "acked",   "failed_total", "total_retries", "stale_settles", "received",      "duplicates",
    "gaps",    "inbox",        "deferred",      "refused_acks"};

std::string selectText() {
  std::string columns;
  for (const char* name : kCounterNames) {
    columns += (columns.empty() ? "" : ",") + std::string(name);
  }
  return "SELECT " + columns + " FROM #counters";
}

std::string updateText() {
  std::string assignments;
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    const char* name = kCounterNames[index];
    assignments.append(index == 0 ? "" : ",").append(name).append("=").append(name);
    assignments.append("+?").append(std::to_string(index + 1));
  }
  return "UPDATE #counters SET " + assignments;
}

std::size_t indexOf(Counter counter) {
  return static_cast<std::size_t>(counter);
}

template <std::size_t... Indices>
void writeAll(Statement& statement, const CounterValues& values, std::index_sequence<Indices...> /*unused*/) {
  Query(statement, values[Indices]...).run();
}

bool isLive(MessageState state) {
  return state == MessageState::pending || state == MessageState::sending || state == MessageState::sent;
}

}  // namespace

Stats toStats(const CounterValues& values) {
  const auto at = [&values](Counter counter) { return static_cast<std::uint64_t>(values[indexOf(counter)]); };
  Stats stats;
  stats.pending = at(Counter::pending);
  stats.sending = at(Counter::sending);
  stats.sent = at(Counter::sent);
  stats.failed = at(Counter::failed);
  stats.pendingBytes = at(Counter::pendingBytes);
  stats.enqueued = at(Counter::enqueued);
  stats.acked = at(Counter::acked);
  stats.failedTotal = at(Counter::failedTotal);
  stats.totalRetries = at(Counter::totalRetries);
  stats.staleSettles = at(Counter::staleSettles);
  stats.received = at(Counter::received);
  stats.duplicates = at(Counter::duplicates);
  stats.gaps = at(Counter::gaps);
  stats.inbox = at(Counter::inbox);
  stats.deferred = at(Counter::deferred);
  stats.refusedAcks = at(Counter::refusedAcks);
  return stats;
}

Counters::Counters(sqlite3* connection, std::string_view prefix)
    : select_(connection, selectText(), prefix), update_(connection, updateText(), prefix) {}

std::int64_t Counters::value(Counter counter) {
  load();
  return base_[indexOf(counter)] + changes_[indexOf(counter)];
}

std::uint64_t Counters::live() {
  return static_cast<std::uint64_t>(value(Counter::pending) + value(Counter::sending) + value(Counter::sent));
}

CounterValues Counters::values() {
  load();
  CounterValues sum = base_;
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    sum[index] += changes_[index];
  }
  return sum;
}

void Counters::add(Counter counter, std::int64_t difference) {
  changes_[indexOf(counter)] += difference;
  changed_ = true;
}

void Counters::leave(MessageState state, std::int64_t rows, std::int64_t bytes) {
  enter(state, -rows, -bytes);
}

void Counters::enter(MessageState state, std::int64_t rows, std::int64_t bytes) {
  // The gauges stand in the order of the states, save that acked rows have none.
  static_assert(static_cast<int>(Counter::sent) == static_cast<int>(MessageState::sent));
  if (isLive(state)) {
    add(static_cast<Counter>(state), rows);
    add(Counter::pendingBytes, bytes);
  } else if (state == MessageState::failed) {
    add(Counter::failed, rows);
  }
}

void Counters::flush() {
  if (!changed_) {
    return;
  }
  load();
  writeAll(update_, changes_, std::make_index_sequence<kCounterCount>());
  base_ = values();
  changes_ = {};
  changed_ = false;
}

void Counters::forget() noexcept {
  changes_ = {};
  changed_ = false;
  loaded_ = false;
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
  loaded_ = true;
}

}  // namespace ackbox::store
