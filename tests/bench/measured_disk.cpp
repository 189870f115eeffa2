#include "bench/measured_disk.hpp"

#include <sqlite3.h>

#include <array>
#include <mutex>
#include <stdexcept>

#include "bench/rest.hpp"

namespace ackbox::bench {
namespace {

// In the write-ahead log each page stands behind a header, which SQLite writes alone and ackbox with the pages; its
// second word is the database's size in pages for the last page of a commit, and 0 for the others.
// Source: https://www.sqlite.org/fileformat2.html#walformat
constexpr int kHeaderBytes = 24;
constexpr int kPageBytes = 4'096;

bool startsCommit(const unsigned char* header) {
  return (header[4] | header[5] | header[6] | header[7]) != 0;
}

// The file object stays the platform's; only its table of methods is replaced by a copy in which two entries count.
// The platform uses one table for each kind of locking; a process meets one or two.
struct Table {
  const sqlite3_io_methods* original = nullptr;
  sqlite3_io_methods log{};
  sqlite3_io_methods database{};
};

std::mutex tablesMutex;
std::array<Table, 8> tables;
sqlite3_vfs* platform = nullptr;
// The originals of every table are the same functions, so that one pointer serves.
int (*platformSync)(sqlite3_file*, int) = nullptr;
int (*platformWrite)(sqlite3_file*, const void*, int, sqlite3_int64) = nullptr;

std::atomic<std::chrono::microseconds::rep> delayMicroseconds{0};

int slowSync(sqlite3_file* file, int flags) {
  const int result = platformSync(file, flags);
  if (const std::chrono::microseconds delay = syncDelay(); delay.count() > 0) {
    rest(delay);
  }
  return result;
}

int syncLog(sqlite3_file* file, int flags) {
  ++diskCounts().logSyncs;
  return slowSync(file, flags);
}

int syncDatabase(sqlite3_file* file, int flags) {
  ++diskCounts().databaseSyncs;
  return slowSync(file, flags);
}

int writeLog(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const bool gathered = size % (kHeaderBytes + kPageBytes) == 0;
  for (int at = 0; at < size && (gathered || size == kHeaderBytes); at += kHeaderBytes + kPageBytes) {
    diskCounts().commits += startsCommit(bytes + at) ? 1 : 0;
  }
  return platformWrite(file, data, size, offset);
}

const Table* tableOf(const sqlite3_io_methods* original) {
  const std::scoped_lock lock(tablesMutex);
  for (Table& table : tables) {
    if (table.original == nullptr) {
      table.original = original;
      if (platformSync == nullptr) {
        platformSync = original->xSync;
        platformWrite = original->xWrite;
      }
      table.log = *original;
      table.log.xSync = syncLog;
      table.log.xWrite = writeLog;
      table.database = *original;
      table.database.xSync = syncDatabase;
    }
    if (table.original == original) {
      return &table;
    }
  }
  return nullptr;
}

int openMeasured(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags) {
  const int result = platform->xOpen(platform, name, file, flags, outFlags);
  if (result != SQLITE_OK || file->pMethods == nullptr) {
    return result;
  }
  if (const Table* table = tableOf(file->pMethods)) {
    if ((flags & SQLITE_OPEN_WAL) != 0) {
      file->pMethods = &table->log;
    } else if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
      file->pMethods = &table->database;
    }
  }
  return SQLITE_OK;
}

}  // namespace

void measureDisk() {
  static sqlite3_vfs measured = [] {
    platform = sqlite3_vfs_find(nullptr);
    sqlite3_vfs made = *platform;
    made.zName = "ackbox-bench-measured";
    made.pNext = nullptr;
    made.xOpen = openMeasured;
    return made;
  }();
  if (sqlite3_vfs_register(&measured, 1) != SQLITE_OK) {
    throw std::runtime_error("cannot register a VFS");
  }
}

DiskCounts& diskCounts() noexcept {
  static DiskCounts counts;
  return counts;
}

std::chrono::microseconds syncDelay() noexcept {
  return std::chrono::microseconds(delayMicroseconds.load(std::memory_order_relaxed));
}

void setSyncDelay(std::chrono::microseconds delay) noexcept {
  delayMicroseconds = delay.count();
}

}  // namespace ackbox::bench
