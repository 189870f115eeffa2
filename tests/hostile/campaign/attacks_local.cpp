// What can be done on the machine itself: a file that is not what it was, and calls against each other.

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/rest.hpp"
#include "hostile/campaign/attacks.hpp"

namespace ackbox::campaign {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
// Never ends; the second one also grows, as it keeps what it has seen.
constexpr const char* kEndless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c";
constexpr const char* kGrowing =
    "WITH RECURSIVE c(x) AS (SELECT randomblob(1000) UNION SELECT randomblob(1000) FROM c) SELECT x FROM c";

enum class Plant { trigger, growingTrigger, view };

std::vector<std::string> tablesOf(SQLite::Database& database) {
  std::vector<std::string> tables;
  SQLite::Statement query(database, "SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'ackbox%'");
  while (query.executeStep()) {
    tables.push_back(query.getColumn(0).getString());
  }
  return tables;
}

void plant(const std::filesystem::path& file, Plant what) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  for (const std::string& table : tablesOf(database)) {
    if (what == Plant::view) {
      // The identity stays, or nobody would take it for an outbox.
      if (table != "ackbox_schema" && table != "ackbox_meta") {
        database.exec("ALTER TABLE " + table + " RENAME TO kept_" + table);
        database.exec("CREATE VIEW " + table + " AS SELECT * FROM kept_" + table +
                      " WHERE EXISTS (SELECT count(*) FROM (" + kEndless + "))");
      }
      continue;
    }
    for (const char* event : {"INSERT", "UPDATE", "DELETE"}) {
      database.exec("CREATE TRIGGER " + table + "_" + event + " BEFORE " + event + " ON " + table +
                    " BEGIN SELECT count(*) FROM (" + (what == Plant::trigger ? kEndless : kGrowing) + "); END");
    }
  }
}

// How a command on the file ends, and what it took.
std::string endingOf(const std::vector<std::string>& command, const std::string& line) {
  AgentProcess process(command, AgentProcess::Errors::dropped);
  std::string ending;
  if (!line.empty()) {
    const std::optional<std::string> answer = process.ask(line, kPatience);
    ending = answer ? answer->substr(0, answer->find(' ')) : "";
  } else if (process.awaitEnd(kPatience)) {
    ending = process.ending();
  }
  const Taken taken = process.taken();
  return ending.empty()
             ? process.ending().empty() ? "hangs at " + std::to_string(taken.memoryMiB) + " MiB" : process.ending()
             : ending;
}

}  // namespace

std::string plantHostileSchema(Arena& arena) {
  arena.open();
  arena.target().ask("enqueue honest 0 1 100 100");
  // The file is closed, and no log is beside it.
  const std::filesystem::path sound = arena.file("bob.db");
  const std::filesystem::path copy = arena.file("planted.db");
  arena.target().finish();
  Tally tally;
  for (const auto& [what, name] :
       {std::pair(Plant::trigger, "triggers"), std::pair(Plant::growingTrigger, "growing triggers"),
        std::pair(Plant::view, "views")}) {
    std::filesystem::copy_file(sound, copy, std::filesystem::copy_options::overwrite_existing);
    plant(copy, what);
    const std::string tool = arena.options().tool.string();
    const auto note = [&, planted = std::string(name)](const std::string& command, const std::string& ending) {
      tally.add(planted + ": " + command + " " + ending);
      std::filesystem::remove(copy.string() + "-wal");
      std::filesystem::remove(copy.string() + "-shm");
    };
    note("open", endingOf({arena.options().agent.string(), copy.string(), "1024", "own"}, "open"));
    for (const char* command : {"stats", "list", "verify"}) {
      note(command, endingOf({tool, command, copy.string()}, {}));
    }
    note("retry", endingOf({tool, "retry", copy.string(), "--all"}, {}));
  }
  return tally.text();
}

std::string startAndStop(Arena& arena) {
  arena.openAndBegin();
  arena.target().ask("rounds");
  std::array<std::uint64_t, 2> counts{};
  std::array<Instant, 2> moved;
  moved.fill(std::chrono::steady_clock::now());
  bool isHung = false;
  while (!isHung && !arena.isOver() && arena.target().ending().empty()) {
    std::istringstream progress(arena.target().ask("progress", kPatience).value_or(""));
    std::string word;
    std::array<std::uint64_t, 2> now{};
    progress >> word >> now[0] >> now[1];
    for (std::size_t call = 0; call < now.size(); ++call) {
      if (now[call] > counts[call]) {
        moved[call] = std::chrono::steady_clock::now();
      }
    }
    counts = now;
    isHung = std::chrono::steady_clock::now() - std::min(moved[0], moved[1]) > kPatience;
    bench::rest(std::chrono::milliseconds(200));
  }
  // A run that is stopped at once sends nothing. What was enqueued meanwhile must leave afterwards.
  if (!isHung && arena.target().ending().empty()) {
    isHung = arena.target().ask("settle", kPatience) != "settled";
  }
  return std::string(isHung ? "hung after " : "at the end ") + std::to_string(counts[0]) + " starts, " +
         std::to_string(counts[1]) + " stops";
}

}  // namespace ackbox::campaign
