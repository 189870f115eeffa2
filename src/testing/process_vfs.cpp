#include "testing/process_vfs.hpp"

#include <utility>

#include "testing/passing_file.hpp"

namespace ackbox::testing {
namespace {

// The first of the locks that connections share is the writer's.
// Source: https://www.sqlite.org/walformat.html#wal_locks
constexpr int kWriterLock = 0;

struct File {
  sqlite3_file base;
  ProcessVfs* process;
  // The platform's file follows in the same allocation.
};

ProcessVfs& processOf(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file)->process;
}

sqlite3_io_methods ioMethods() {
  static const sqlite3_io_methods passing = passingMethods<File>();
  sqlite3_io_methods methods = passing;
  methods.xRead = [](sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    return processOf(file).dead() ? SQLITE_IOERR_READ : passing.xRead(file, bytes, size, offset);
  };
  methods.xWrite = [](sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    const int code = processOf(file).change(SQLITE_IOERR_WRITE);
    return code == SQLITE_OK ? passing.xWrite(file, bytes, size, offset) : code;
  };
  methods.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
    const int code = processOf(file).change(SQLITE_IOERR_TRUNCATE);
    return code == SQLITE_OK ? passing.xTruncate(file, size) : code;
  };
  methods.xSync = [](sqlite3_file* file, int) { return processOf(file).sync(); };
  methods.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
    const bool writes = offset == kWriterLock && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    const int code = writes ? processOf(file).lockForWriting() : SQLITE_OK;
    return code == SQLITE_OK ? passing.xShmLock(file, offset, count, flags) : code;
  };
  return methods;
}

}  // namespace

ProcessVfs::ProcessVfs(std::string name) : name_(std::move(name)), registered_{*sqlite3_vfs_find(nullptr), this} {
  sqlite3_vfs& vfs = registered_.vfs;
  vfs.zName = name_.c_str();
  vfs.pNext = nullptr;
  vfs.szOsFile += static_cast<int>(sizeof(File));
  vfs.xOpen = &ProcessVfs::open;
  vfs.xDelete = &ProcessVfs::remove;
  vfs.xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
  sqlite3_vfs_register(&vfs, 0);
}

ProcessVfs::~ProcessVfs() {
  sqlite3_vfs_unregister(&registered_.vfs);
}

int ProcessVfs::change(int refusal) noexcept {
  if (writesLeft_) {
    dead_ = dead_ || *writesLeft_ == 0;
    *writesLeft_ -= *writesLeft_ == 0 ? 0U : 1U;
  }
  if (dead_ || fails(DiskFault::ioError)) {
    return refusal;
  }
  return fails(DiskFault::full) ? SQLITE_FULL : SQLITE_OK;
}

int ProcessVfs::sync() noexcept {
  return dead_ || fails(DiskFault::ioError) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

int ProcessVfs::lockForWriting() noexcept {
  return fails(DiskFault::busy) ? SQLITE_BUSY : SQLITE_OK;
}

bool ProcessVfs::fails(DiskFault fault) noexcept {
  if (!failing_ || failing_->fault != fault) {
    return false;
  }
  if (failing_->after > 0) {
    --failing_->after;
    return false;
  }
  if (failing_->count == 0) {
    failing_.reset();
    return false;
  }
  --failing_->count;
  if (onFault_) {
    onFault_(fault);
  }
  return true;
}

int ProcessVfs::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags) {
  static const sqlite3_io_methods methods = ioMethods();
  file->pMethods = nullptr;
  ProcessVfs* const process = reinterpret_cast<Registered*>(vfs)->self;
  if (process->dead_) {
    return SQLITE_CANTOPEN;
  }
  sqlite3_vfs* const platform = sqlite3_vfs_find(nullptr);
  const int code = platform->xOpen(platform, path, platformFile<File>(file), flags, outFlags);
  if (code == SQLITE_OK) {
    auto* made = new (file) File{};
    made->process = process;
    made->base.pMethods = &methods;
  }
  return code;
}

int ProcessVfs::remove(sqlite3_vfs* vfs, const char* path, int syncDirectory) {
  if (const int code = reinterpret_cast<Registered*>(vfs)->self->change(SQLITE_IOERR_DELETE); code != SQLITE_OK) {
    return code;
  }
  sqlite3_vfs* const platform = sqlite3_vfs_find(nullptr);
  return platform->xDelete(platform, path, syncDirectory);
}

}  // namespace ackbox::testing
