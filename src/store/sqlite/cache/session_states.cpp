#include "store/sqlite/cache/session_states.hpp"

#include <string>

#include "ackbox/error.hpp"

namespace ackbox::store::sqlite {
namespace {

// The number of states that are kept from one transaction to the next: about 2 MB.
constexpr std::size_t kStatesMax = 20'000;

// Rows per statement: 4.1 thousand instructions each instead of 6.7 thousand; twice as many rows gain little more.
constexpr std::size_t kWrittenTogether = 16;

std::string writeStatesText(std::size_t rows) {
  return "REPLACE INTO "
         "#session_states(session_id,last_sequence,previous_sequence,confirmed_sequence,due_at_ms,due_is_firm,"
         "live,failed,head_id) VALUES" +
         repeated("(?,?,?,?,?,?,?,?,?)", rows);
}

}  // namespace

void throwStateMissing(delivery::SessionKey session) {
  throw Error(Errc::databaseCorrupt, "the state of session " + std::to_string(session) + " is missing");
}

SessionStates::SessionStates(sqlite3* connection, std::string_view prefix)
    : select_(connection,
              "SELECT last_sequence,previous_sequence,confirmed_sequence,due_at_ms,due_is_firm,live,failed,head_id,"
              "typeof(last_sequence)||typeof(previous_sequence)||typeof(confirmed_sequence)||typeof(head_id)="
              "'integerintegerintegerinteger' FROM #session_states WHERE session_id=?1",
              prefix),
      write_(connection, writeStatesText(1), prefix),
      writeMany_(connection, writeStatesText(kWrittenTogether), prefix) {}

SessionState& SessionStates::change(delivery::SessionKey session) {
  requireNoScope();
  Entry& entry = entryOf(session);
  if (!entry.isChanged) {
    changed_.push_back(session);
    entry.isChanged = true;
  }
  return entry.state;
}

const SessionState* SessionStates::known(delivery::SessionKey session) const {
  const auto found = entries_.find(session);
  return found == entries_.end() ? nullptr : &found->second.state;
}

SessionStates::Entry& SessionStates::entryOf(delivery::SessionKey session) {
  if (const auto known = entries_.find(session); known != entries_.end()) {
    return known->second;
  }
  Query query(select_, session);
  if (!query.next()) {
    throwStateMissing(session);
  }
  SessionState state;
  Columns columns(query);
  columns >> state.lastSequence >> state.previousSequence >> state.confirmedSequence >> state.dueAt >> state.isFirm >>
      state.live >> state.failed >> state.head;
  if (!columns.next<bool>()) {
    // SQLite would return 0: acknowledged messages would be sent again, or a number be used twice.
    throw Error(Errc::databaseCorrupt,
                "the state of session " + std::to_string(session) +
                    " holds a value that is not a number: other SQL has changed it; ackbox verify FILE "
                    "names it, and ackbox repair FILE mends what can be mended");
  }
  return entries_.emplace(session, Entry{state, false}).first->second;
}

void SessionStates::flush() {
  std::size_t first = 0;
  for (; first + kWrittenTogether <= changed_.size(); first += kWrittenTogether) {
    write(writeMany_, first, kWrittenTogether);
  }
  for (; first < changed_.size(); ++first) {
    write(write_, first, 1);
  }
  changed_.clear();
  if (entries_.size() > kStatesMax) {
    entries_.clear();
  }
}

void SessionStates::write(Statement& statement, std::size_t first, std::size_t count) {
  Query query(statement);
  for (std::size_t place = first; place < first + count; ++place) {
    Entry& entry = entries_.find(changed_[place])->second;
    const SessionState& state = entry.state;
    query.add(changed_[place], state.lastSequence, state.previousSequence, state.confirmedSequence, state.dueAt,
              state.isFirm, state.live, state.failed, state.head);
    entry.isChanged = false;
  }
  query.run();
}

void SessionStates::forget() noexcept {
  changed_.clear();
  entries_.clear();
}

}  // namespace ackbox::store::sqlite
