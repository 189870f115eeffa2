#include "bench/backlog.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

constexpr std::uint64_t kLargeRows = 1'000'000;
constexpr std::uint64_t kLargeSessions = 10'000;
constexpr std::uint64_t kSmallRows = 1'000;
constexpr std::uint64_t kSmokeRows = 2'000;
constexpr std::uint64_t kEnqueueSlice = 1'000;

void fill(const std::filesystem::path& file, const Backlog& backlog) {
  OutboxManager manager = OutboxManager::open(file, backlogOptions());
  std::vector<Frame> frames;
  for (std::uint64_t number = 0; number < backlog.rows; ++number) {
    frames.push_back(backlog.frame(number));
    if (frames.size() == kEnqueueSlice || number + 1 == backlog.rows) {
      for (const EnqueueReceipt& receipt : manager.enqueueBatch(frames)) {
        if (!receipt.isNew()) {
          throw std::runtime_error("an enqueue was refused: " + receipt.detail);
        }
      }
      frames.clear();
    }
  }
}

// By hand what a nack does, for as long as a retry may wait at all.
std::chrono::milliseconds muchLater() {
  const auto instant = std::chrono::system_clock::now() + std::chrono::minutes(59);
  return std::chrono::duration_cast<std::chrono::milliseconds>(instant.time_since_epoch());
}

// Of the sessions that are due, or of those that are not.
void setDue(const std::filesystem::path& file, const Backlog& backlog, bool ofDue, std::chrono::milliseconds due) {
  SQLite::Database connection(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement update(connection,
                           "UPDATE ackbox_session_states SET due_at_ms=?1 WHERE session_id=(SELECT id FROM "
                           "ackbox_sessions WHERE name=?2)");
  connection.exec("BEGIN IMMEDIATE");
  for (std::uint64_t number = 0; number < backlog.sessions; ++number) {
    if (backlog.isDue(number) == ofDue) {
      update.bind(1, static_cast<std::int64_t>(due.count()));
      update.bind(2, backlog.frame(number).session);
      update.exec();
      update.reset();
    }
  }
  connection.exec("COMMIT");
}

}  // namespace

Frame Backlog::frame(std::uint64_t number) const {
  Frame made = frameOf(number, sessions);
  if (number + 1 == rows) {
    made.id = kIdOfLast;
  }
  return made;
}

Backlog smallBacklog(Due due) {
  return {kSmallRows, kSmallRows, due};
}

Backlog largeBacklog(const Settings& settings, Due due) {
  return settings.count == 0 ? Backlog{kLargeRows, kLargeSessions, due} : Backlog{kSmokeRows, kSmokeRows, due};
}

OutboxOptions backlogOptions() {
  OutboxOptions options = outboxOptions(Durability::powerCut);
  options.stopTimeout = std::chrono::milliseconds(0);
  return options;
}

std::filesystem::path backlogFile(const Settings& settings, const Backlog& backlog) {
  const char* const kind = backlog.due == Due::all ? "backlog-" : "backoff-";
  std::filesystem::path file = settings.folder / (kind + std::to_string(backlog.rows) + ".db");
  if (!std::filesystem::exists(file)) {
    fill(file, backlog);
    if (backlog.due != Due::all) {
      setDue(file, backlog, false, muchLater());
    }
  }
  return file;
}

void holdBackDue(const std::filesystem::path& file, const Backlog& backlog) {
  setDue(file, backlog, true, muchLater());
  Frame last = frameOf(0);
  last.session = "last";
  OutboxManager manager = OutboxManager::open(file, backlogOptions());
  if (!manager.enqueue(last).isNew()) {
    throw std::runtime_error("an enqueue was refused");
  }
}

void letDueGo(const std::filesystem::path& file, const Backlog& backlog) {
  setDue(file, backlog, true, std::chrono::milliseconds(0));
}

int runBacklogReader(const std::filesystem::path& file) {
  constexpr std::size_t kMoreThanAllDue = 10'000;
  OutboxManager manager = OutboxManager::open(file, backlogOptions());
  const std::vector<Claim> claimed = PullConsumer(manager).claim(kMoreThanAllDue);
  if (claimed.empty() || manager.getStats().sending != claimed.size() ||
      !manager.explain(claimed.front().frame.messageId)) {
    throw std::runtime_error("the backlog is not what it should be");
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      std::cout << line.substr(line.find_first_of("0123456789")) << std::endl;
      return EXIT_SUCCESS;
    }
  }
  throw std::runtime_error("the kernel does not tell the peak of memory");
}

}  // namespace ackbox::bench
