#include "sqlite/wal/log_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "sqlite/wal/batched_log.hpp"
#include "sqlite/wal/log_checksum.hpp"
#include "sqlite/wal/log_format.hpp"
#include "sqlite/wal/scratch_disk.hpp"

namespace ackbox::sqlite {
namespace {

constexpr const char* kFile = "/scratch";
constexpr const char* kNoMemory = "there is no memory for the check";

/// Thrown to end a check.
struct Difference {
  std::string text;
};

void require(bool holds, const char* otherwise) {
  if (!holds) {
    throw Difference{otherwise};
  }
}

struct Close {
  void operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

Handle open(const ScratchDisk& disk) {
  sqlite3* connection = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(kFile, &connection, kFlags, disk.name().c_str());
  Handle handle(connection);
  require(code != SQLITE_NOMEM, kNoMemory);
  require(code == SQLITE_OK, "a scratch database cannot be opened");
  return handle;
}

void run(const Handle& handle, const char* sql) {
  const int code = sqlite3_exec(handle.get(), sql, nullptr, nullptr, nullptr);
  require((code & 0xFF) != SQLITE_NOMEM && code != SQLITE_IOERR_NOMEM, kNoMemory);
  require(code == SQLITE_OK, "SQLite cannot use its log behind the batched log");
}

// All values, so that a missing or old value is noticed.
std::string content(const Handle& handle) {
  std::string all;
  const auto add = [](void* to, int columns, char** values, char** /*names*/) {
    for (int column = 0; column < columns; ++column) {
      static_cast<std::string*>(to)->append(values[column] == nullptr ? "" : values[column]).push_back(' ');
    }
    return 0;
  };
  const int code =
      sqlite3_exec(handle.get(), "SELECT id,length(v),substr(v,1,20) FROM t ORDER BY id", add, &all, nullptr);
  require((code & 0xFF) != SQLITE_NOMEM, kNoMemory);
  require(code == SQLITE_OK, "SQLite cannot read what was written through the batched log");
  return all;
}

/// The end of the committed frames; verifies every salt and checksum from the beginning on.
std::int64_t committedEnd(std::span<const std::byte> log) {
  require(log.size() >= kLogHeaderBytes, "the log has no header");
  const std::uint32_t magic = numberAt(log.data());
  const std::size_t pageBytes = numberAt(log.data() + 8);
  require((magic & ~1U) == kLogMagic && isPageSize(static_cast<std::int64_t>(pageBytes)),
          "the log's header is not as the file format has it");
  LogChecksum sum((magic & 1U) != 0);
  sum.add(log.first(24));
  require(sum.isAt(log.data() + 24), "the log's header has another checksum");
  const std::size_t frameBytes = kFrameHeaderBytes + pageBytes;
  std::size_t committed = kLogHeaderBytes;
  for (std::size_t at = kLogHeaderBytes; at + frameBytes <= log.size(); at += frameBytes) {
    const std::byte* const header = log.data() + at;
    sum.add(log.subspan(at, 8));
    sum.add(log.subspan(at + kFrameHeaderBytes, pageBytes));
    if (!std::equal(header + 8, header + 16, log.data() + 16) || !sum.isAt(header + 16)) {
      break;
    }
    committed = numberAt(header + 4) != 0 ? at + frameBytes : committed;
  }
  return static_cast<std::int64_t>(committed);
}

class Check {
public:
  explicit Check(const std::function<void(sqlite3*)>& change) : database_(open(disk_)) {
    run(database_,
        "PRAGMA journal_mode=MEMORY;PRAGMA journal_mode=WAL;PRAGMA wal_autocheckpoint=0;PRAGMA synchronous=FULL;"
        "CREATE TABLE t(id INTEGER PRIMARY KEY,v TEXT)");
    log_.emplace(database_.get());
    if (change) {
      change(database_.get());
    }
  }

  void all() {
    require(log_->whyOff() == nullptr, log_->whyOff());
    commits(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<9)"
        "INSERT INTO t SELECT x,printf('%05000d',x) FROM c");
    commits("UPDATE t SET v='short' WHERE id=1");
    spares();
    rollsBack();
    rewrites();
    beginsAnew();
  }

private:
  struct Calls {
    std::vector<ScratchDisk::Record> logWrites;
    std::size_t logSyncs = 0;
    // The position of the last call of each kind that was made while the writer lock was held; 0 if there was none.
    std::size_t lastWrite = 0;
    std::size_t lastSync = 0;
    std::size_t lastPublish = 0;

    [[nodiscard]] bool inOrder() const noexcept { return lastWrite < lastSync && lastSync < lastPublish; }
  };

  /// Runs a transaction, or its end.
  Calls change(const char* sql) {
    disk_.records.clear();
    run(database_, sql);
    require(log_->whyOff() == nullptr, log_->whyOff());
    Calls calls;
    std::size_t place = 0;
    for (const ScratchDisk::Record& record : disk_.records) {
      ++place;
      switch (record.call) {
        case ScratchDisk::Call::write:
          if (record.isLog) {
            calls.logWrites.push_back(record);
            calls.lastWrite = place;
          }
          break;
        case ScratchDisk::Call::sync:
          calls.logSyncs += record.isLog ? 1 : 0;
          calls.lastSync = record.isLog ? place : calls.lastSync;
          break;
        case ScratchDisk::Call::publish:
          calls.lastPublish = place;
          break;
        case ScratchDisk::Call::unlockWriter:
          return calls;
      }
    }
    throw Difference{"SQLite does not give the writer lock back after a transaction"};
  }

  // Requires one write of all frames, and perhaps of preallocated bytes behind them, then one sync.
  void commits(const char* sql) {
    const Calls calls = change(sql);
    require(calls.logSyncs == 1, "a commit is not synced once");
    require(calls.inOrder(), "SQLite does not sync a commit after its last page and before it gives the lock back");
    require(!calls.logWrites.empty() && isFrames(calls.logWrites.front()), "a commit is not written by one call");
    const std::int64_t end = calls.logWrites.front().offset + calls.logWrites.front().size;
    const auto isBehind = [end](const ScratchDisk::Record& write) { return write.offset >= end; };
    require(std::all_of(calls.logWrites.begin() + 1, calls.logWrites.end(), isBehind),
            "a commit is not complete with its last page");
    requireWhole(end);
  }

  [[nodiscard]] bool isFrames(const ScratchDisk::Record& write) const {
    const std::int64_t frameBytes = kFrameHeaderBytes + static_cast<std::int64_t>(numberAt(disk_.log().data() + 8));
    return write.size % frameBytes == 0 && (write.offset - kLogHeaderBytes) % frameBytes == 0;
  }

  // Requires that the log is what SQLite takes it for, up to `end`, also after a crash.
  void requireWhole(std::int64_t end) {
    require(end < 0 || committedEnd(disk_.log()) == end, "the log's frames or checksums are not those of its commits");
    const ScratchDisk copy(&disk_);
    require(content(open(copy)) == content(database_), "after a crash SQLite finds other rows than were committed");
  }

  void spares() {
    log_->syncCommits(false);
    const Calls calls = change("UPDATE t SET v=v||'unsynced' WHERE id=2");
    require(calls.logSyncs == 0, "a commit whose sync is left out is synced all the same");
    disk_.records.clear();
    run(database_, "PRAGMA wal_checkpoint(FULL)");
    const auto isIn = [](bool isLog, ScratchDisk::Call call) {
      return [isLog, call](const ScratchDisk::Record& record) { return record.isLog == isLog && record.call == call; };
    };
    const auto sync = std::find_if(disk_.records.begin(), disk_.records.end(), isIn(true, ScratchDisk::Call::sync));
    const auto write = std::find_if(disk_.records.begin(), disk_.records.end(), isIn(false, ScratchDisk::Call::write));
    require(write != disk_.records.end() && sync < write, "a checkpoint does not sync the log before it copies it");
    log_->syncCommits(true);
    requireWhole(-1);
    // The log restarts, because all of it was checkpointed.
    change("UPDATE t SET v=v||'next' WHERE id=2");
    requireWhole(-1);
  }

  void rollsBack() {
    const std::string before = content(database_);
    run(database_, "PRAGMA cache_size=2;PRAGMA cache_spill=2;BEGIN IMMEDIATE;UPDATE t SET v=v||'undone'");
    require(content(database_) != before, "SQLite does not read back what it wrote to the log");
    change("ROLLBACK");
    require(content(database_) == before, "a rollback leaves something behind");
    run(database_, "PRAGMA cache_spill=OFF");
    commits("UPDATE t SET v='after' WHERE id=3");
  }

  void rewrites() {
    run(database_, "PRAGMA cache_spill=2");
    change("BEGIN IMMEDIATE;UPDATE t SET v=v||'once';UPDATE t SET v=v||'twice';COMMIT");
    requireWhole(committedEnd(disk_.log()));
    run(database_, "PRAGMA cache_spill=OFF;PRAGMA cache_size=100");
  }

  void beginsAnew() {
    run(database_, "PRAGMA wal_checkpoint(RESTART)");
    const Calls calls = change("UPDATE t SET v='anew' WHERE id=4");
    require(calls.logWrites.size() >= 2 && calls.logWrites[0].offset == 0 &&
                calls.logWrites[0].size == kLogHeaderBytes && isFrames(calls.logWrites[1]),
            "a log does not begin anew with its header");
    require(calls.logSyncs == 2 && calls.inOrder(), "a new log's header or its first commit is not synced");
    requireWhole(calls.logWrites[1].offset + calls.logWrites[1].size);
  }

  ScratchDisk disk_;
  Handle database_;
  // Destroyed before the connection.
  std::optional<BatchedLog> log_;
};

}  // namespace

std::string checkLog(const std::function<void(sqlite3*)>& change) {
  try {
    Check(change).all();
    return {};
  } catch (const Difference& difference) {
    return difference.text;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

std::string knownLogDifference() {
  static Mutex mutex;
  static std::optional<std::string> known ACKBOX_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  if (known) {
    return *known;
  }
  std::string found = checkLog();
  if (found != kNoMemory) {
    known = found;
  }
  return found;
}

}  // namespace ackbox::sqlite
