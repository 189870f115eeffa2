#include "other_sqlite.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace ackbox::testing {
namespace {

constexpr int kFrameHeader = 24;
constexpr int kLogHeader = 32;

// Where it may be taken in place of the writer's: the last reader's.
constexpr int kOtherLock = SQLITE_SHM_NLOCK - 1;

bool commits(const std::string& header) {
  return header.substr(4, 4) != std::string(4, '\0');
}

std::string withoutMark(std::string header) {
  return header.replace(4, 4, 4, '\0');
}

}  // namespace

OtherSqlite* OtherSqlite::instance_ = nullptr;

OtherSqlite::OtherSqlite(sqlite3* connection, Habit habit) : habit_(habit) {
  instance_ = this;
  const auto take = [&](File& taken, int which) {
    sqlite3_file_control(connection, "main", which, static_cast<void*>(&taken.file));
    taken.beneath = taken.file->pMethods;
    std::memcpy(&taken.methods, taken.beneath, offsetof(sqlite3_io_methods, xFetch));
    taken.methods.iVersion = 2;
    taken.file->pMethods = &taken.methods;
  };
  take(log_, SQLITE_FCNTL_JOURNAL_POINTER);
  take(database_, SQLITE_FCNTL_FILE_POINTER);
  log_.methods.xWrite = &OtherSqlite::write;
  log_.methods.xSync = &OtherSqlite::sync;
  database_.methods.xShmLock = &OtherSqlite::lockShared;
}

void OtherSqlite::restore() noexcept {
  for (File* const taken : {&log_, &database_}) {
    if (taken->file != nullptr) {
      taken->file->pMethods = taken->beneath;
      taken->file = nullptr;
    }
  }
}

void OtherSqlite::forget() noexcept {
  log_.file = nullptr;
  database_.file = nullptr;
}

int OtherSqlite::forward(const std::string& bytes, sqlite3_int64 offset) {
  const File& log = instance_->log_;
  return log.beneath->xWrite(log.file, bytes.data(), static_cast<int>(bytes.size()), offset);
}

int OtherSqlite::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  OtherSqlite& self = *instance_;
  const std::string piece(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  self.wroteLogHeader_ = size == kLogHeader && offset == 0;
  if (self.habit_ == Habit::usual || self.wroteLogHeader_) {
    return self.log_.beneath->xWrite(file, bytes, size, offset);
  }
  if (size == kFrameHeader) {
    self.header_ = piece;
    self.headerOffset_ = offset;
    return SQLITE_OK;
  }
  const std::string header = std::exchange(self.header_, {});
  const sqlite3_int64 at = self.headerOffset_;
  if (header.empty()) {
    return forward(piece, offset);
  }
  const auto both = [&](const std::string& first, sqlite3_int64 firstAt, const std::string& second,
                        sqlite3_int64 secondAt) {
    const int refused = forward(first, firstAt);
    return refused != SQLITE_OK ? refused : forward(second, secondAt);
  };
  int refused = SQLITE_OK;
  switch (self.habit_) {
    case Habit::wholeFrames:
      return forward(header + piece, at);
    case Habit::pagesFirst:
      return both(piece, offset, header, at);
    case Habit::splitPages:
      refused = both(header, at, piece.substr(0, piece.size() / 2), offset);
      return refused != SQLITE_OK ? refused : forward(piece.substr(piece.size() / 2), offset + size / 2);
    case Habit::lateCommitMark:
      refused = both(withoutMark(header), at, piece, offset);
      return refused != SQLITE_OK || !commits(header) ? refused : forward(header, at);
    case Habit::noCommitMark:
      return both(withoutMark(header), at, piece, offset);
    case Habit::longHeaders:
      return both(header + piece.substr(0, 8), at, piece.substr(8), offset + 8);
    case Habit::earlySync:
      if (commits(header)) {
        refused = self.log_.beneath->xSync(file, SQLITE_SYNC_NORMAL);
      }
      return refused != SQLITE_OK ? refused : both(header, at, piece, offset);
    default:
      return both(header, at, piece, offset);
  }
}

int OtherSqlite::sync(sqlite3_file* file, int flags) {
  OtherSqlite& self = *instance_;
  const bool ofHeader = std::exchange(self.wroteLogHeader_, false);
  const bool isLeftOut = ofHeader ? self.habit_ == Habit::noHeaderSync
                                  : self.habit_ == Habit::earlySync || self.habit_ == Habit::noCommitSync ||
                                        self.habit_ == Habit::lateSync;
  self.owesSync_ = isLeftOut && self.habit_ == Habit::lateSync;
  return isLeftOut ? SQLITE_OK : self.log_.beneath->xSync(file, flags);
}

int OtherSqlite::lockShared(sqlite3_file* file, int offset, int count, int flags) {
  OtherSqlite& self = *instance_;
  if (offset == 0 && count == 1) {
    if (self.habit_ == Habit::noLock) {
      return SQLITE_OK;
    }
    if (self.habit_ == Habit::otherLock) {
      offset = kOtherLock;
    }
    if ((flags & SQLITE_SHM_UNLOCK) != 0 && std::exchange(self.owesSync_, false)) {
      self.log_.beneath->xSync(self.log_.file, SQLITE_SYNC_NORMAL);
    }
  }
  return self.database_.beneath->xShmLock(file, offset, count, flags);
}

}  // namespace ackbox::testing
