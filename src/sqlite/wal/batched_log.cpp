#include "sqlite/wal/batched_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace ackbox::store {
namespace {

// The first of the locks that connections share is the writer's.
// Source: https://www.sqlite.org/walformat.html#wal_locks
constexpr int kWriterLock = 0;

sqlite3_file* fileOf(sqlite3* connection, int which) {
  sqlite3_file* file = nullptr;
  const bool found = sqlite3_file_control(connection, "main", which, static_cast<void*>(&file)) == SQLITE_OK;
  return found && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

// How much of the table a VFS of that version has.
std::size_t bytesOf(int version) {
  switch (version) {
    case 1:
      return offsetof(sqlite3_io_methods, xShmMap);
    case 2:
      return offsetof(sqlite3_io_methods, xFetch);
    default:
      return sizeof(sqlite3_io_methods);
  }
}

}  // namespace

void BatchedLog::File::take(sqlite3_file* taken, BatchedLog* by) {
  static_assert(std::is_standard_layout_v<File>, "the table's address is to be the object's");
  file = taken;
  owner = by;
  beneath = taken->pMethods;
  std::memcpy(&methods, beneath, bytesOf(beneath->iVersion));
  methods.iVersion = std::min(methods.iVersion, 3);
  methods.xClose = &BatchedLog::close;
  taken->pMethods = &methods;
}

void BatchedLog::File::giveBack() noexcept {
  if (file != nullptr) {
    file->pMethods = beneath;
    file = nullptr;
  }
}

BatchedLog::BatchedLog(sqlite3* connection) {
  sqlite3_file* const log = fileOf(connection, SQLITE_FCNTL_JOURNAL_POINTER);
  sqlite3_file* const database = fileOf(connection, SQLITE_FCNTL_FILE_POINTER);
  if (log == nullptr || database == nullptr || database->pMethods->iVersion < 2 ||
      (database->pMethods->xDeviceCharacteristics(database) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) == 0) {
    return;
  }
  buffer_.emplace(log, log->pMethods);
  room_.emplace(log, log->pMethods);
  log_.take(log, this);
  log_.methods.xRead = &BatchedLog::read;
  log_.methods.xWrite = &BatchedLog::write;
  log_.methods.xSync = &BatchedLog::sync;
  log_.methods.xTruncate = &afterFlush<&sqlite3_io_methods::xTruncate, sqlite3_int64>;
  log_.methods.xFileSize = &afterFlush<&sqlite3_io_methods::xFileSize, sqlite3_int64*>;
  log_.methods.xFileControl = &afterFlush<&sqlite3_io_methods::xFileControl, int, void*>;
  database_.take(database, this);
  database_.methods.xShmLock = &BatchedLog::lockShared;
}

BatchedLog::~BatchedLog() {
  release();
}

bool BatchedLog::syncCommits(bool on) noexcept {
  syncsCommits_ = on;
  return log_.file != nullptr;
}

void BatchedLog::release() noexcept {
  log_.giveBack();
  database_.giveBack();
}

template <auto Method, typename... Arguments>
int BatchedLog::afterFlush(sqlite3_file* file, Arguments... arguments) {
  const File& self = of(file);
  const int refused = self.owner->buffer_->flush();
  return refused != SQLITE_OK ? refused : (self.beneath->*Method)(file, arguments...);
}

int BatchedLog::read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  const File& self = of(file);
  if (self.owner->buffer_->holds(size, offset)) {
    if (const int refused = self.owner->buffer_->flush(); refused != SQLITE_OK) {
      return refused;
    }
  }
  return self.beneath->xRead(file, bytes, size, offset);
}

int BatchedLog::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  return of(file).owner->buffer_->write(bytes, size, offset);
}

int BatchedLog::sync(sqlite3_file* file, int flags) {
  const File& self = of(file);
  if (const int refused = self.owner->buffer_->flush(); refused != SQLITE_OK) {
    return refused;
  }
  if (self.owner->buffer_->takeCommit() && !self.owner->syncsCommits_) {
    return SQLITE_OK;
  }
  self.owner->room_->keepBehind(self.owner->buffer_->end());
  return self.beneath->xSync(file, flags);
}

int BatchedLog::lockShared(sqlite3_file* file, int offset, int count, int flags) {
  const File& self = of(file);
  constexpr int kGivesBack = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
  if ((flags & kGivesBack) == kGivesBack && offset <= kWriterLock && kWriterLock < offset + count) {
    self.owner->buffer_->forget();
  }
  return self.beneath->xShmLock(file, offset, count, flags);
}

// SQLite closes a file earlier than we let go of it when the connection leaves the log by a PRAGMA.
int BatchedLog::close(sqlite3_file* file) {
  const File& self = of(file);
  self.owner->release();
  return file->pMethods->xClose(file);
}

}  // namespace ackbox::store
