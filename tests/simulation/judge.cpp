#include "simulation/judge.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"

namespace ackbox::simulation {

void createEffects(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(
      "CREATE TABLE IF NOT EXISTS effects(at INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, origin TEXT, session TEXT, "
      "sequence INTEGER)");
}

void Judge::readOutbox(const std::string& agent, const OutboxManager& outbox) {
  std::int64_t after = 0;
  do {
    const DeadLetterPage page = outbox.deadLetters({}, 1'000, after);
    for (const MessageInfo& dead : page.messages) {
      dead_.insert(dead.messageId);
    }
    after = page.next;
  } while (after != 0);
  for (const Finding& finding : outbox.verify().findings) {
    ledger_.violated("P10",
                     agent + ": " + finding.table + " row " + std::to_string(finding.row) + ": " + finding.problem);
  }
}

void Judge::readEffects(const std::string& agent, const std::filesystem::path& file) {
  const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement rows(database, "SELECT id,origin,session,sequence FROM effects ORDER BY at");
  std::map<std::pair<std::string, std::string>, std::int64_t> last;
  while (rows.executeStep()) {
    const std::string id = rows.getColumn(0).getString();
    const std::string session = rows.getColumn(2).getString();
    const std::int64_t sequence = rows.getColumn(3).getInt64();
    ++effects_;
    ++counts_[id];
    digestOf(agent + id + std::to_string(sequence));
    std::int64_t& before = last[{rows.getColumn(1).getString(), session}];
    if (sequence <= before) {
      ledger_.violated("P4", agent + ": " + id + " of session " + session + " took effect as " +
                                 std::to_string(sequence) + " after " + std::to_string(before));
    }
    before = sequence;
    if (!ledger_.entries.contains(id)) {
      ledger_.violated("P5", agent + ": nobody ever said " + id);
    }
  }
}

void Judge::compare() {
  for (const auto& [id, entry] : ledger_.entries) {
    const std::uint32_t count = counts_[id];
    const bool dead = dead_.contains(id);
    // A reply is said once for each effect of what it answers, and a redriven message may repeat its effect.
    const std::uint32_t said = entry.answers.empty() ? 1 : counts_[entry.answers];
    if (count > said + entry.redrives) {
      ledger_.violated("P5", id + " took effect " + std::to_string(count) + " times");
    }
    if (entry.confirmed && count == 0 && !dead && !entry.discarded) {
      ledger_.violated("P3", id + " from " + entry.from + " to " + entry.to + ", session " + entry.session +
                                 ", sequence " + std::to_string(entry.sequence) + " was enqueued and is lost");
    }
    if (entry.acked && count == 0) {
      ledger_.violated("P5", id + " was acknowledged without an effect");
    }
  }
}

void Judge::digestOf(const std::string& text) {
  for (const char byte : text) {
    digest_ = (digest_ ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
}

}  // namespace ackbox::simulation
