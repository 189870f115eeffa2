#include "store/sqlite/cache/lazy_session_rows.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace ackbox::store::sqlite {

LazySessionRows::LazySessionRows(sqlite3* connection, std::string_view prefix, Counters& counters,
                                 SessionStates& states)
    : counters_(counters),
      states_(states),
      catchUp_(connection,
               std::string("UPDATE #session_states SET last_sequence=t.last_sequence, "
                           "head_id=iif(#session_states.live=0,coalesce(t.first_id,head_id),head_id), "
                           "live=#session_states.live+t.live FROM ")
                   .append(kUnwrittenTails)
                   .append(" AS t WHERE t.session_id=#session_states.session_id"),
               prefix) {}

void LazySessionRows::begun(bool othersCommitted) {
  WriteBack::begun(othersCommitted);
  catchUp();
}

void LazySessionRows::catchUp() {
  if (complete_) {
    return;
  }
  const std::int64_t behind = counters_.value(Counter::lastKey) - counters_.value(Counter::tailsKey);
  if (behind != 0) {
    Query(catchUp_).run();
    states_.forget();
    // Written with this commit; otherwise two stores that take turns would look at the same rows each time.
    counters_.add(Counter::tailsKey, behind);
  }
  complete_ = true;
}

void LazySessionRows::append(delivery::SessionKey session, std::uint64_t sequence, delivery::MessageKey key) {
  Appended& appended = unwritten_[session];
  undo_.push_back({session, appended});
  if (appended.rows == 0) {
    appended.first = key;
    queue_.emplace_back(key, session);
  }
  appended.lastSequence = sequence;
  ++appended.rows;
}

std::uint64_t LazySessionRows::lastSequence(delivery::SessionKey session, std::uint64_t written) const {
  const auto found = unwritten_.find(session);
  return found == unwritten_.end() ? written : std::max(written, found->second.lastSequence);
}

void LazySessionRows::moveInto(delivery::SessionKey session, SessionState& state) {
  requireInvariant(scopes_.empty(), "lazy session rows: a state is changed inside a nested scope");
  const Counters::SessionChange gauges = counters_.takeSession(session);
  if (const auto found = unwritten_.find(session); found != unwritten_.end()) {
    const Appended& appended = found->second;
    state.lastSequence = std::max(state.lastSequence, appended.lastSequence);
    if (state.live == 0) {
      state.head = appended.first;
    }
    state.live += appended.rows;
    unwritten_.erase(found);
  }
  state.live += gauges.live;
  state.failed += gauges.failed;
  if (state.live < 0 || state.failed < 0) {
    counters_.doubt();
  }
}

void LazySessionRows::flush() {
  writeUpTo(counters_.value(Counter::lastKey) - kBehindMax);
}

void LazySessionRows::flushAll() {
  writeUpTo(std::numeric_limits<delivery::MessageKey>::max());
}

void LazySessionRows::writeUpTo(delivery::MessageKey key) {
  for (const delivery::SessionKey session : counters_.changedSessions()) {
    write(session);
  }
  while (!queue_.empty()) {
    const auto [first, session] = queue_.front();
    const auto found = unwritten_.find(session);
    if (found != unwritten_.end() && found->second.first == first) {
      if (first > key) {
        break;
      }
      write(session);
    }
    queue_.pop_front();
  }
  const delivery::MessageKey written = queue_.empty() ? counters_.value(Counter::lastKey) : queue_.front().first - 1;
  requireInvariant(written <= counters_.value(Counter::lastKey), "lazy session rows: written beyond the last message");
  // A lower value in the file only costs the store that catches up some looks.
  counters_.note(Counter::tailsKey, written - counters_.value(Counter::tailsKey));
  undo_.clear();
}

void LazySessionRows::write(delivery::SessionKey session) {
  moveInto(session, states_.change(session));
}

void LazySessionRows::scopeUndone() noexcept {
  const std::size_t mark = scopes_.back();
  scopes_.pop_back();
  for (; undo_.size() > mark; undo_.pop_back()) {
    const Undo& undo = undo_.back();
    if (undo.before.rows == 0) {
      queue_.pop_back();
      unwritten_.erase(undo.session);
    } else {
      unwritten_[undo.session] = undo.before;
    }
  }
}

void LazySessionRows::forget() noexcept {
  unwritten_.clear();
  queue_.clear();
  undo_.clear();
  scopes_.clear();
  complete_ = false;
}

}  // namespace ackbox::store::sqlite
