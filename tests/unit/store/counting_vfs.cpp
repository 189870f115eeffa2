#include "counting_vfs.hpp"

#include <algorithm>
#include <new>

namespace ackbox::testing {
namespace {

// SQLite hands `open` the vfs only, and its private data is the platform's. One at a time is all that tests need.
CountingVfs* instance = nullptr;

struct File {
  sqlite3_file base;
  CountingVfs* counters;
  bool isLog;
  sqlite3_io_methods methods;
  // The platform's file follows in the same allocation.
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
}

File& self(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}

int onWrite(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  if (self(file).isLog) {
    ++self(file).counters->logWrites;
    self(file).counters->logBytesMax = std::max(self(file).counters->logBytesMax, offset + size);
  }
  return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
}

int onSync(sqlite3_file* file, int flags) {
  self(file).counters->logSyncs += self(file).isLog ? 1 : 0;
  return real(file)->pMethods->xSync(real(file), flags);
}

// Everything else is passed on.
sqlite3_io_methods passingMethods(int version) {
  sqlite3_io_methods methods{};
  methods.iVersion = version;
  methods.xClose = [](sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); };
  methods.xRead = [](sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), bytes, size, offset);
  };
  methods.xWrite = onWrite;
  methods.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
    return real(file)->pMethods->xTruncate(real(file), size);
  };
  methods.xSync = onSync;
  methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
  };
  methods.xLock = [](sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); };
  methods.xUnlock = [](sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); };
  methods.xCheckReservedLock = [](sqlite3_file* file, int* result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
  };
  methods.xFileControl = [](sqlite3_file* file, int operation, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
  };
  methods.xSectorSize = [](sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); };
  methods.xDeviceCharacteristics = [](sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
  };
  methods.xShmMap = [](sqlite3_file* file, int page, int size, int extend, void volatile** mapped) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, mapped);
  };
  methods.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
  };
  methods.xShmBarrier = [](sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); };
  methods.xShmUnmap = [](sqlite3_file* file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
  };
  return methods;
}

}  // namespace

CountingVfs::CountingVfs() {
  vfs_ = *sqlite3_vfs_find(nullptr);
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.szOsFile += static_cast<int>(sizeof(File));
  vfs_.xOpen = &CountingVfs::open;
  instance = this;
  sqlite3_vfs_register(&vfs_, 0);
}

CountingVfs::~CountingVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

int CountingVfs::open(sqlite3_vfs* /*vfs*/, const char* path, sqlite3_file* file, int flags, int* outFlags) {
  CountingVfs* const counters = instance;
  sqlite3_vfs* const platform = sqlite3_vfs_find(nullptr);
  if (counters->readOnly) {
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  }
  file->pMethods = nullptr;
  const int code = platform->xOpen(platform, path, real(file), flags, outFlags);
  if (code == SQLITE_OK) {
    auto* made = new (file) File{};
    made->counters = counters;
    made->isLog = (flags & SQLITE_OPEN_WAL) != 0;
    made->methods = passingMethods(2);
    made->base.pMethods = &made->methods;
  }
  return code;
}

}  // namespace ackbox::testing
