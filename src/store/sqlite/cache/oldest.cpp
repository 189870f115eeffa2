#include "store/sqlite/cache/oldest.hpp"

#include "ackbox/message.hpp"

namespace ackbox::store::sqlite {
namespace {

// Rows that each settling commit looks at, in addition to twice the number of rows that it settled.
constexpr std::size_t kLooks = 32;

}  // namespace

Oldest::Oldest(sqlite3* connection, std::string_view prefix, Counters& counters)
    : counters_(counters),
      scan_(connection, "SELECT id,state,created_at_ms FROM #outbox WHERE id>=?1 ORDER BY id LIMIT ?2", prefix) {}

void Oldest::settled(delivery::MessageKey key) {
  due_ = due_ || !exact_ || key <= counters_.value(Counter::oldestKey);
  ++settled_;
}

void Oldest::returned(delivery::MessageKey key) {
  const delivery::MessageKey known = counters_.value(Counter::oldestKey);
  if (key < known) {
    counters_.add(Counter::oldestKey, key - known);
  }
  exact_ = false;
  due_ = true;
}

void Oldest::flush() {
  if (due_ && isOutboxEmpty()) {
    exact_ = false;
    due_ = false;
  } else if (due_) {
    advance(kLooks + 2 * settled_);
  }
  settled_ = 0;
}

bool Oldest::isOutboxEmpty() {
  return counters_.live() == 0 && counters_.value(Counter::failed) == 0 && counters_.value(Counter::retained) == 0;
}

void Oldest::advance(std::size_t looks) {
  const delivery::MessageKey from = counters_.value(Counter::oldestKey);
  delivery::MessageKey oldest = from;
  std::size_t looked = 0;
  exact_ = false;
  for (Query query(scan_, from, looks); !exact_ && query.next(); ++looked) {
    const auto state = query.as<MessageState>(1);
    exact_ = state != MessageState::acked && state != MessageState::failed;
    oldest = query.integer(0) + (exact_ ? 0 : 1);
    enqueuedAt_ = query.instant(2);
  }
  due_ = !exact_ && looked == looks;
  if (oldest != from) {
    counters_.add(Counter::oldestKey, oldest - from);
  }
}

bool Oldest::isNoneLive(std::size_t looks) {
  advance(looks);
  return !exact_ && !due_;
}

void Oldest::forget() noexcept {
  exact_ = false;
  settled_ = 0;
}

}  // namespace ackbox::store::sqlite
