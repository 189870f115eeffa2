#include "sqlite/wal/scratch_disk.hpp"

#include "sqlite/file_names.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

namespace ackbox::sqlite {
namespace {

constexpr int kPathBytesMax = 64;

std::string freshName() {
  static std::atomic<unsigned> count{0};
  return "ackbox-scratch-" + std::to_string(++count);
}

// Rollback journals are not kept.
bool isKept(const char* path) {
  return !std::string_view(path).ends_with("-journal");
}

std::size_t fileAt(const char* path) {
  return path != nullptr && std::string_view(path).ends_with(kLogEnding) ? 1 : 0;
}

}  // namespace

/// The object that SQLite allocates for an open file.
struct ScratchDisk::File {
  sqlite3_file base;
  ScratchDisk* disk;
  std::size_t which;
};

ScratchDisk::ScratchDisk(const ScratchDisk* crashed) : name_(freshName()) {
  if (crashed != nullptr) {
    files_ = crashed->files_;
    exist_ = crashed->exist_;
  }
  // Time, randomness and the loading of extensions come from the platform's VFS.
  vfs_ = *sqlite3_vfs_find(nullptr);
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(File));
  vfs_.mxPathname = kPathBytesMax;
  vfs_.xOpen = &ScratchDisk::open;
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int) {
    if (!isKept(path)) {
      return SQLITE_OK;
    }
    auto& self = *static_cast<ScratchDisk*>(vfs->pAppData);
    self.files_[fileAt(path)].clear();
    self.exist_[fileAt(path)] = false;
    return SQLITE_OK;
  };
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int, int* result) {
    *result = isKept(path) && static_cast<ScratchDisk*>(vfs->pAppData)->exist_[fileAt(path)] ? 1 : 0;
    return SQLITE_OK;
  };
  vfs_.xFullPathname = [](sqlite3_vfs*, const char* path, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", path);
    return SQLITE_OK;
  };
  sqlite3_vfs_register(&vfs_, 0);
}

ScratchDisk::~ScratchDisk() {
  sqlite3_vfs_unregister(&vfs_);
}

ScratchDisk& ScratchDisk::diskOf(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file)->disk;
}

std::vector<std::byte>& ScratchDisk::bytesOf(sqlite3_file* file) {
  return diskOf(file).files_[reinterpret_cast<File*>(file)->which];
}

int ScratchDisk::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags) {
  auto& self = *static_cast<ScratchDisk*>(vfs->pAppData);
  file->pMethods = nullptr;
  if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) {
    return SQLITE_CANTOPEN;
  }
  new (file) File{{&methods()}, &self, fileAt(path)};
  self.exist_[fileAt(path)] = true;
  if (outFlags != nullptr) {
    *outFlags = flags;
  }
  return SQLITE_OK;
}

int ScratchDisk::read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  const std::vector<std::byte>& bytes = bytesOf(file);
  const auto wanted = static_cast<std::size_t>(size);
  const std::size_t start = std::min(static_cast<std::size_t>(offset), bytes.size());
  const std::size_t count = std::min(wanted, bytes.size() - start);
  if (count != 0) {
    std::memcpy(out, bytes.data() + start, count);
  }
  std::memset(static_cast<char*>(out) + count, 0, wanted - count);
  return count == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int ScratchDisk::write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  try {
    std::vector<std::byte>& bytes = bytesOf(file);
    const std::size_t end = static_cast<std::size_t>(offset) + static_cast<std::size_t>(size);
    bytes.resize(std::max(bytes.size(), end));
    std::memcpy(bytes.data() + offset, from, static_cast<std::size_t>(size));
    diskOf(file).records.push_back({Call::write, reinterpret_cast<File*>(file)->which == 1, offset, size});
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
}

int ScratchDisk::truncate(sqlite3_file* file, sqlite3_int64 size) {
  std::vector<std::byte>& bytes = bytesOf(file);
  bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(size)));
  return SQLITE_OK;
}

int ScratchDisk::mapShared(sqlite3_file* file, int region, int size, int extend, void volatile** mapped) {
  *mapped = nullptr;
  if (size != static_cast<int>(kSharedBytes)) {
    return SQLITE_IOERR_SHMMAP;
  }
  auto& shared = diskOf(file).shared_;
  try {
    while (extend != 0 && shared.size() <= static_cast<std::size_t>(region)) {
      shared.push_back(std::make_unique<std::array<std::byte, kSharedBytes>>());
    }
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  *mapped =
      shared.size() > static_cast<std::size_t>(region) ? shared[static_cast<std::size_t>(region)]->data() : nullptr;
  return SQLITE_OK;
}

const sqlite3_io_methods& ScratchDisk::methods() {
  static const sqlite3_io_methods kMethods = [] {
    const auto note = [](sqlite3_file* file, Call call) {
      try {
        diskOf(file).records.push_back({call, reinterpret_cast<File*>(file)->which == 1});
        return SQLITE_OK;
      } catch (const std::bad_alloc&) {
        return SQLITE_IOERR_NOMEM;
      }
    };
    using Note = decltype(note);
    sqlite3_io_methods made{};
    made.iVersion = 2;
    made.xClose = [](sqlite3_file*) { return SQLITE_OK; };
    made.xRead = &ScratchDisk::read;
    made.xWrite = &ScratchDisk::write;
    made.xTruncate = &ScratchDisk::truncate;
    made.xSync = [](sqlite3_file* file, int) { return Note{}(file, Call::sync); };
    made.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
      *size = static_cast<sqlite3_int64>(bytesOf(file).size());
      return SQLITE_OK;
    };
    made.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
    made.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
    made.xCheckReservedLock = [](sqlite3_file*, int* result) {
      *result = 0;
      return SQLITE_OK;
    };
    made.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
    made.xSectorSize = [](sqlite3_file*) { return 4096; };
    made.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; };
    made.xShmMap = &ScratchDisk::mapShared;
    made.xShmLock = [](sqlite3_file* file, int offset, int, int flags) {
      constexpr int kUnlock = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
      return offset == 0 && (flags & kUnlock) == kUnlock ? Note{}(file, Call::unlockWriter) : SQLITE_OK;
    };
    made.xShmBarrier = [](sqlite3_file* file) { (void)Note{}(file, Call::publish); };
    made.xShmUnmap = [](sqlite3_file*, int) { return SQLITE_OK; };
    return made;
  }();
  return kMethods;
}

}  // namespace ackbox::sqlite
