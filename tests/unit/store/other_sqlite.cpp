#include "other_sqlite.hpp"

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

// Whether it changes the calls that write frames.
bool changesFrames(OtherSqlite::Habit habit) {
  using Habit = OtherSqlite::Habit;
  return habit == Habit::wholeFrames || habit == Habit::pagesFirst || habit == Habit::splitPages ||
         habit == Habit::lateCommitMark || habit == Habit::noCommitMark || habit == Habit::longHeaders ||
         habit == Habit::earlySync;
}

std::string withoutMark(std::string header) {
  return header.replace(4, 4, 4, '\0');
}

}  // namespace

OtherSqlite* OtherSqlite::instance_ = nullptr;

/// While it lives, SQLite's files have the methods beneath.
class OtherSqlite::Beneath {
public:
  explicit Beneath(sqlite3_file* file) : taken_(file == instance_->log_.file ? instance_->log_ : instance_->database_) {
    file->pMethods = taken_.beneath;
  }
  ~Beneath() {
    if (taken_.file != nullptr) {
      taken_.file->pMethods = &taken_.methods;
    }
  }
  Beneath(const Beneath&) = delete;
  Beneath& operator=(const Beneath&) = delete;

private:
  File& taken_;
};

template <auto Method, typename... Arguments>
int OtherSqlite::pass(sqlite3_file* file, Arguments... arguments) {
  const Beneath beneath(file);
  return (file->pMethods->*Method)(file, arguments...);
}

OtherSqlite::OtherSqlite(sqlite3* connection, Habit habit) : habit_(habit) {
  instance_ = this;
  for (const auto& [taken, which] :
       {std::pair(&log_, SQLITE_FCNTL_JOURNAL_POINTER), std::pair(&database_, SQLITE_FCNTL_FILE_POINTER)}) {
    sqlite3_file_control(connection, "main", which, static_cast<void*>(&taken->file));
    taken->beneath = taken->file->pMethods;
    sqlite3_io_methods& methods = taken->methods;
    methods.iVersion = 2;
    methods.xClose = [](sqlite3_file* file) {
      instance_->restore();
      return file->pMethods->xClose(file);
    };
    methods.xRead = &pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>;
    methods.xWrite = &pass<&sqlite3_io_methods::xWrite, const void*, int, sqlite3_int64>;
    methods.xTruncate = &pass<&sqlite3_io_methods::xTruncate, sqlite3_int64>;
    methods.xSync = &pass<&sqlite3_io_methods::xSync, int>;
    methods.xFileSize = &pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>;
    methods.xLock = &pass<&sqlite3_io_methods::xLock, int>;
    methods.xUnlock = &pass<&sqlite3_io_methods::xUnlock, int>;
    methods.xCheckReservedLock = &pass<&sqlite3_io_methods::xCheckReservedLock, int*>;
    methods.xFileControl = &pass<&sqlite3_io_methods::xFileControl, int, void*>;
    methods.xSectorSize = &pass<&sqlite3_io_methods::xSectorSize>;
    methods.xDeviceCharacteristics = &pass<&sqlite3_io_methods::xDeviceCharacteristics>;
    methods.xShmMap = &pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>;
    methods.xShmLock = &pass<&sqlite3_io_methods::xShmLock, int, int, int>;
    methods.xShmBarrier = [](sqlite3_file* file) {
      const Beneath beneath(file);
      file->pMethods->xShmBarrier(file);
    };
    methods.xShmUnmap = &pass<&sqlite3_io_methods::xShmUnmap, int>;
  }
  log_.methods.xWrite = &OtherSqlite::write;
  log_.methods.xSync = &OtherSqlite::sync;
  database_.methods.xShmLock = &OtherSqlite::lockShared;
  log_.file->pMethods = &log_.methods;
  database_.file->pMethods = &database_.methods;
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
  return pass<&sqlite3_io_methods::xWrite, const void*>(instance_->log_.file, bytes.data(),
                                                        static_cast<int>(bytes.size()), offset);
}

int OtherSqlite::forwardWaiting() {
  const std::string header = std::exchange(header_, {});
  return header.empty() ? SQLITE_OK : forward(header, headerOffset_);
}

int OtherSqlite::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  OtherSqlite& self = *instance_;
  const std::string piece(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  self.wroteLogHeader_ = size == kLogHeader && offset == 0;
  if (!changesFrames(self.habit_) || self.wroteLogHeader_) {
    return forward(piece, offset);
  }
  if (size == kFrameHeader) {
    // A header that was waiting is one with a new checksum, which comes without its page.
    if (const int refused = self.forwardWaiting(); refused != SQLITE_OK) {
      return refused;
    }
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
        refused = pass<&sqlite3_io_methods::xSync>(file, SQLITE_SYNC_NORMAL);
      }
      return refused != SQLITE_OK ? refused : both(header, at, piece, offset);
    default:
      return both(header, at, piece, offset);
  }
}

int OtherSqlite::sync(sqlite3_file* file, int flags) {
  OtherSqlite& self = *instance_;
  if (const int refused = self.forwardWaiting(); refused != SQLITE_OK) {
    return refused;
  }
  const bool ofHeader = std::exchange(self.wroteLogHeader_, false);
  const bool isLeftOut = ofHeader ? self.habit_ == Habit::noHeaderSync
                                  : self.habit_ == Habit::earlySync || self.habit_ == Habit::noCommitSync ||
                                        self.habit_ == Habit::lateSync;
  self.owesSync_ = isLeftOut && self.habit_ == Habit::lateSync;
  return isLeftOut ? SQLITE_OK : pass<&sqlite3_io_methods::xSync>(file, flags);
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
      pass<&sqlite3_io_methods::xSync>(self.log_.file, SQLITE_SYNC_NORMAL);
    }
  }
  return pass<&sqlite3_io_methods::xShmLock>(file, offset, count, flags);
}

}  // namespace ackbox::testing
