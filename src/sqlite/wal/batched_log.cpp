#include "sqlite/wal/batched_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ackbox::sqlite {
namespace {

// The index of the writer's lock among the locks in shared memory. Source:
// https://www.sqlite.org/walformat.html#wal_locks
constexpr int kWriterLock = 0;

sqlite3_file* fileOf(sqlite3* connection, int which) {
  sqlite3_file* file = nullptr;
  const bool found = sqlite3_file_control(connection, "main", which, static_cast<void*>(&file)) == SQLITE_OK;
  return found && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

// The size of the method table of that version.
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

void BatchedLog::File::install(sqlite3_file* taken, BatchedLog* by) {
  static_assert(std::is_standard_layout_v<File>, "the table's address must be the object's");
  file = taken;
  owner = by;
  beneath = taken->pMethods;
  std::memcpy(&methods, beneath, bytesOf(beneath->iVersion));
  methods.iVersion = std::min(methods.iVersion, 3);
  methods.xClose = &BatchedLog::close;
  taken->pMethods = &methods;
}

void BatchedLog::File::restore() noexcept {
  if (file != nullptr) {
    file->pMethods = beneath;
    file = nullptr;
  }
}

BatchedLog::BatchedLog(sqlite3* connection, std::function<void()> syncFailed, const char* whyNot)
    : whyNotBatched_(whyNot), syncFailed_(std::move(syncFailed)) {
  sqlite3_file* const log = fileOf(connection, SQLITE_FCNTL_JOURNAL_POINTER);
  sqlite3_file* const database = fileOf(connection, SQLITE_FCNTL_FILE_POINTER);
  if (log == nullptr || database == nullptr) {
    whyNotBatched_ = whyNot != nullptr ? whyNot : "SQLite does not say where its files are";
    return;
  }
  if (whyNotBatched_ != nullptr) {
    // The syncs of the log are still watched.
  } else if (database->pMethods->iVersion < 2) {
    whyNotBatched_ = "the VFS has no shared memory";
  } else if ((database->pMethods->xDeviceCharacteristics(database) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) == 0) {
    whyNotBatched_ = "the VFS does not promise that a torn write spares its neighbours";
  }
  const sqlite3_io_methods* const beneath = log->pMethods;
  log_.install(log, this);
  log_.methods.xSync = &BatchedLog::sync;
  if (whyNotBatched_ != nullptr) {
    return;
  }
  buffer_.emplace(log, beneath);
  preallocation_.emplace(log, beneath);
  log_.methods.xRead = &BatchedLog::read;
  log_.methods.xWrite = &BatchedLog::write;
  log_.methods.xTruncate = &afterFlush<&sqlite3_io_methods::xTruncate, sqlite3_int64>;
  log_.methods.xFileSize = &afterFlush<&sqlite3_io_methods::xFileSize, sqlite3_int64*>;
  log_.methods.xFileControl = &afterFlush<&sqlite3_io_methods::xFileControl, int, void*>;
  database_.install(database, this);
  database_.methods.xShmLock = &BatchedLog::lockShared;
  database_.methods.xShmBarrier = &BatchedLog::publish;
}

BatchedLog::~BatchedLog() {
  release();
}

bool BatchedLog::syncCommits(bool on) noexcept {
  syncsCommits_ = on;
  return log_.file != nullptr && whyOff() == nullptr;
}

const char* BatchedLog::whyOff() const noexcept {
  return buffer_ ? buffer_->whyOff() : whyNotBatched_;
}

void BatchedLog::release() noexcept {
  log_.restore();
  database_.restore();
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
  BatchedLog& owner = *self.owner;
  if (owner.buffer_) {
    LogBuffer& buffer = *owner.buffer_;
    if (const int refused = buffer.flush(); refused != SQLITE_OK) {
      return refused;
    }
    if (buffer.whyOff() == nullptr) {
      if (buffer.takeCommit() && !owner.syncsCommits_) {
        return SQLITE_OK;
      }
      owner.preallocation_->extendBehind(buffer.end());
    }
  }
  const int refused = self.beneath->xSync(file, flags);
  if (refused != SQLITE_OK && owner.syncFailed_) {
    owner.syncFailed_();
  }
  return refused;
}

int BatchedLog::lockShared(sqlite3_file* file, int offset, int count, int flags) {
  const File& self = of(file);
  LogBuffer& buffer = *self.owner->buffer_;
  const bool isWriters = (flags & SQLITE_SHM_EXCLUSIVE) != 0 && offset <= kWriterLock && kWriterLock < offset + count;
  if (isWriters && (flags & SQLITE_SHM_UNLOCK) != 0) {
    buffer.endTransaction();
  }
  const int refused = self.beneath->xShmLock(file, offset, count, flags);
  if (isWriters && (flags & SQLITE_SHM_LOCK) != 0 && refused == SQLITE_OK) {
    buffer.beginTransaction();
  }
  return refused;
}

// SQLite writes the log's index twice with a barrier in between; readers do not use it while the two differ.
void BatchedLog::publish(sqlite3_file* file) {
  const File& self = of(file);
  self.owner->buffer_->beforePublish();
  self.beneath->xShmBarrier(file);
}

// When a PRAGMA takes the connection out of WAL mode, SQLite closes the file before this object is destroyed.
int BatchedLog::close(sqlite3_file* file) {
  const File& self = of(file);
  if (self.owner->buffer_) {
    self.owner->buffer_->turnOff("the connection left its write-ahead log");
  }
  self.owner->release();
  return file->pMethods->xClose(file);
}

}  // namespace ackbox::sqlite
