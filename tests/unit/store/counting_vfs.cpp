#include "counting_vfs.hpp"

#include <algorithm>
#include <new>

#include "testing/passing_file.hpp"

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

File& self(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}

int onWrite(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  if (self(file).isLog) {
    ++self(file).counters->logWrites;
    self(file).counters->logBytesMax = std::max(self(file).counters->logBytesMax, offset + size);
  }
  return passingMethods<File>().xWrite(file, bytes, size, offset);
}

int onSync(sqlite3_file* file, int flags) {
  self(file).counters->logSyncs += self(file).isLog ? 1 : 0;
  return passingMethods<File>().xSync(file, flags);
}

sqlite3_io_methods countingMethods() {
  sqlite3_io_methods methods = passingMethods<File>();
  methods.xWrite = onWrite;
  methods.xSync = onSync;
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
  const int code = platform->xOpen(platform, path, platformFile<File>(file), flags, outFlags);
  if (code == SQLITE_OK) {
    auto* made = new (file) File{};
    made->counters = counters;
    made->isLog = (flags & SQLITE_OPEN_WAL) != 0;
    made->methods = countingMethods();
    made->base.pMethods = &made->methods;
  }
  return code;
}

}  // namespace ackbox::testing
