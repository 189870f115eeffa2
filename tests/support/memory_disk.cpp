#include "support/memory_disk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

namespace ackbox::testing {

void DiskRecord::add(DiskOperation operation) {
  const std::scoped_lock lock(mutex_);
  operations_.push_back(std::move(operation));
}

std::size_t DiskRecord::length() const {
  const std::scoped_lock lock(mutex_);
  return operations_.size();
}

DiskRecord::LogWrites DiskRecord::logWrites() const {
  constexpr std::size_t kFrameHeader = 24;
  constexpr std::size_t kPage = 4096;
  const std::scoped_lock lock(mutex_);
  LogWrites writes;
  for (const DiskOperation& operation : operations_) {
    if (operation.kind == DiskCall::write && operation.path.ends_with("-wal")) {
      const std::size_t size = operation.bytes.size();
      writes.batched += size != 0 && size % (kFrameHeader + kPage) == 0 ? 1 : 0;
      writes.single += size == kFrameHeader ? 1 : 0;
    }
  }
  return writes;
}

/// SQLite's callbacks.
struct MemoryVfs {
  /// SQLite's structure for an open file.
  struct Handle {
    sqlite3_file base;
    MemoryDisk* disk;
    std::shared_ptr<MemoryDisk::Node> node;
    int level = SQLITE_LOCK_NONE;
    bool mapped = false;
    std::uint32_t shmShared = 0;
    std::uint32_t shmExclusive = 0;
    // The number of the node's failures that this handle knows of.
    std::size_t failuresKnown = 0;
  };

  static Handle& self(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static MemoryDisk& disk(sqlite3_vfs* vfs) { return *static_cast<MemoryDisk*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags) {
    static const sqlite3_io_methods kMethods = ioMethods();
    file->pMethods = nullptr;
    MemoryDisk& on = disk(vfs);
    const std::scoped_lock lock(on.mutex_);
    const std::string name = path == nullptr ? "" : path;
    if (const int refused = on.refuse(DiskCall::open, name); refused != SQLITE_OK) {
      return refused;
    }
    std::shared_ptr<MemoryDisk::Node> node;
    const auto known = on.nodes_.find(name);
    if (path != nullptr && known != on.nodes_.end()) {
      node = known->second;
    } else if (path != nullptr && (flags & SQLITE_OPEN_CREATE) == 0) {
      return SQLITE_CANTOPEN;
    } else {
      node = std::make_shared<MemoryDisk::Node>();
      node->path = name;
      if (path != nullptr) {
        on.nodes_.emplace(name, node);
        on.note(DiskCall::open, name);
      }
    }
    const std::size_t failures = node->failures;
    new (file) Handle{{&kMethods}, &on, std::move(node)};
    self(file).failuresKnown = failures;
    if (outFlags != nullptr) {
      *outFlags = flags;
    }
    return SQLITE_OK;
  }

  static int close(sqlite3_file* file) {
    Handle& handle = self(file);
    unlock(file, SQLITE_LOCK_NONE);
    shmUnmap(file, 0);
    handle.~Handle();
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int /*syncDirectory*/) {
    MemoryDisk& on = disk(vfs);
    const std::scoped_lock lock(on.mutex_);
    if (const int refused = on.refuse(DiskCall::remove, path); refused != SQLITE_OK) {
      return refused;
    }
    if (on.nodes_.erase(path) == 0) {
      return SQLITE_IOERR_DELETE_NOENT;
    }
    on.note(DiskCall::remove, path);
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* path, int /*flags*/, int* result) {
    MemoryDisk& on = disk(vfs);
    const std::scoped_lock lock(on.mutex_);
    *result = on.nodes_.contains(path) ? 1 : 0;
    return on.refuse(DiskCall::access, path);
  }

  static int fullPath(sqlite3_vfs* /*vfs*/, const char* path, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", path);
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    const int refused = handle.disk->refuse(DiskCall::read, handle.node->path);
    const std::string& bytes = handle.node->bytes;
    const auto start = std::min(static_cast<std::size_t>(offset), bytes.size());
    std::size_t count = std::min(static_cast<std::size_t>(size), bytes.size() - start);
    if (refused == SQLITE_IOERR_SHORT_READ) {
      count /= 2;
    } else if (refused != SQLITE_OK) {
      return refused;
    }
    std::memcpy(out, bytes.data() + start, count);
    std::memset(static_cast<char*>(out) + count, 0, static_cast<std::size_t>(size) - count);
    return count == static_cast<std::size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    int refused = handle.disk->refuse(DiskCall::write, handle.node->path);
    // A refused write may have written its first half.
    auto count = static_cast<std::size_t>(refused == SQLITE_OK ? size : size / 2);
    const auto start = static_cast<std::size_t>(offset);
    std::string& bytes = handle.node->bytes;
    const std::size_t room = handle.disk->roomFor(*handle.node);
    if (start + count > std::max(room, bytes.size())) {
      refused = SQLITE_FULL;
      count = std::max({room, bytes.size(), start}) - start;
    }
    if (count == 0) {
      return refused;
    }
    bytes.resize(std::max(bytes.size(), start + count));
    std::memcpy(bytes.data() + start, from, count);
    handle.disk->note(DiskCall::write, handle.node->path, start, {static_cast<const char*>(from), count});
    return refused;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    if (const int refused = handle.disk->refuse(DiskCall::truncate, handle.node->path); refused != SQLITE_OK) {
      return refused;
    }
    handle.node->bytes.resize(static_cast<std::size_t>(size));
    handle.disk->note(DiskCall::truncate, handle.node->path, static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* file, int /*flags*/) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    MemoryDisk::Node& node = *handle.node;
    if (const int refused = handle.disk->refuse(DiskCall::sync, node.path); refused != SQLITE_OK) {
      if (handle.disk->forgets) {
        handle.disk->note(DiskCall::forget, node.path, handle.disk->forgetSeed);
        handle.failuresKnown = ++node.failures;
      }
      return refused;
    }
    if (!handle.disk->ignoresSyncs) {
      handle.disk->note(DiskCall::sync, node.path);
    }
    // The later writes are on the disk; the failed sync was another handle's, and is reported nevertheless.
    return std::exchange(handle.failuresKnown, node.failures) == node.failures ? SQLITE_OK : SQLITE_IOERR_FSYNC;
  }

  static int fileSize(sqlite3_file* file, sqlite3_int64* size) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    *size = static_cast<sqlite3_int64>(handle.node->bytes.size());
    return handle.disk->refuse(DiskCall::fileSize, handle.node->path);
  }

  static int lock(sqlite3_file* file, int level) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    if (level <= handle.level) {
      return SQLITE_OK;
    }
    if (const int refused = handle.disk->refuse(DiskCall::lock, handle.node->path); refused != SQLITE_OK) {
      return refused;
    }
    MemoryDisk::Node& node = *handle.node;
    const auto foreign = [file](const void* owner) { return owner != nullptr && owner != file; };
    if (level == SQLITE_LOCK_SHARED) {
      if (foreign(node.pending)) {
        return SQLITE_BUSY;
      }
      ++node.sharers;
    } else if (level == SQLITE_LOCK_RESERVED) {
      if (foreign(node.reserved)) {
        return SQLITE_BUSY;
      }
      node.reserved = file;
    } else {
      if (foreign(node.pending)) {
        return SQLITE_BUSY;
      }
      node.pending = file;
      if (node.sharers > 1) {
        return SQLITE_BUSY;
      }
    }
    handle.level = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* file, int level) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    MemoryDisk::Node& node = *handle.node;
    node.reserved = node.reserved == file ? nullptr : node.reserved;
    node.pending = node.pending == file ? nullptr : node.pending;
    if (level == SQLITE_LOCK_NONE && handle.level >= SQLITE_LOCK_SHARED) {
      --node.sharers;
    }
    handle.level = std::min(handle.level, level);
    return SQLITE_OK;
  }

  static int checkReserved(sqlite3_file* file, int* result) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    *result = handle.node->reserved != nullptr ? 1 : 0;
    return SQLITE_OK;
  }

  static int shmMap(sqlite3_file* file, int region, int size, int extend, void volatile** mapped) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    *mapped = nullptr;
    if (const int refused = handle.disk->refuse(DiskCall::shmMap, handle.node->path); refused != SQLITE_OK) {
      return refused;
    }
    MemoryDisk::Node& node = *handle.node;
    if (!handle.mapped) {
      handle.mapped = true;
      if (node.shmUsers++ == 0) {
        // Shared memory that a dead machine left is cleared.
        node.shm.clear();
      }
    }
    const auto index = static_cast<std::size_t>(region);
    while (extend != 0 && node.shm.size() <= index) {
      node.shm.push_back(std::make_unique<std::vector<char>>(static_cast<std::size_t>(size)));
    }
    *mapped = index < node.shm.size() ? node.shm[index]->data() : nullptr;
    return SQLITE_OK;
  }

  static int shmLock(sqlite3_file* file, int offset, int count, int flags) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    MemoryDisk::Node& node = *handle.node;
    const auto first = static_cast<std::size_t>(offset);
    const std::size_t end = first + static_cast<std::size_t>(count);
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      for (std::size_t slot = first; slot < end; ++slot) {
        const std::uint32_t bit = 1U << slot;
        node.shmSharers[slot] -= (handle.shmShared & bit) != 0 ? 1 : 0;
        node.shmOwners[slot] = (handle.shmExclusive & bit) != 0 ? nullptr : node.shmOwners[slot];
        handle.shmShared &= ~bit;
        handle.shmExclusive &= ~bit;
      }
      return SQLITE_OK;
    }
    if (const int refused = handle.disk->refuse(DiskCall::shmLock, handle.node->path); refused != SQLITE_OK) {
      return refused;
    }
    const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    for (std::size_t slot = first; slot < end; ++slot) {
      if (node.shmOwners[slot] != nullptr || (exclusive && node.shmSharers[slot] != 0)) {
        return SQLITE_BUSY;
      }
    }
    for (std::size_t slot = first; slot < end; ++slot) {
      const std::uint32_t bit = 1U << slot;
      if (exclusive) {
        node.shmOwners[slot] = file;
        handle.shmExclusive |= bit;
      } else if ((handle.shmShared & bit) == 0) {
        ++node.shmSharers[slot];
        handle.shmShared |= bit;
      }
    }
    return SQLITE_OK;
  }

  static void shmBarrier(sqlite3_file* file) {
    const std::scoped_lock lock(self(file).disk->mutex_);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  static int shmUnmap(sqlite3_file* file, int remove) {
    Handle& handle = self(file);
    const std::scoped_lock lock(handle.disk->mutex_);
    if (!handle.mapped) {
      return SQLITE_OK;
    }
    shmLock(file, 0, static_cast<int>(MemoryDisk::kShmLocks), SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    handle.mapped = false;
    if (--handle.node->shmUsers == 0 && remove != 0) {
      handle.node->shm.clear();
    }
    return SQLITE_OK;
  }

  static sqlite3_io_methods ioMethods() {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xClose = &MemoryVfs::close;
    methods.xRead = &MemoryVfs::read;
    methods.xWrite = &MemoryVfs::write;
    methods.xTruncate = &MemoryVfs::truncate;
    methods.xSync = &MemoryVfs::sync;
    methods.xFileSize = &MemoryVfs::fileSize;
    methods.xLock = &MemoryVfs::lock;
    methods.xUnlock = &MemoryVfs::unlock;
    methods.xCheckReservedLock = &MemoryVfs::checkReserved;
    methods.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
    methods.xSectorSize = [](sqlite3_file*) { return 4096; };
    // SQLite assumes of every disk that a torn write does not harm its neighbours.
    methods.xDeviceCharacteristics = [](sqlite3_file* file) {
      return self(file).disk->sparesNeighbours ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
    };
    methods.xShmMap = &MemoryVfs::shmMap;
    methods.xShmLock = &MemoryVfs::shmLock;
    methods.xShmBarrier = &MemoryVfs::shmBarrier;
    methods.xShmUnmap = &MemoryVfs::shmUnmap;
    return methods;
  }
};

namespace {

std::string freshName() {
  static std::atomic<unsigned> count{0};
  return "memory-disk-" + std::to_string(++count);
}

}  // namespace

MemoryDisk::MemoryDisk(DiskFiles files, std::shared_ptr<DiskRecord> record, std::size_t number)
    : name_(freshName()), number_(number), record_(std::move(record)) {
  for (auto& [path, bytes] : files) {
    auto node = std::make_shared<Node>();
    node->path = path;
    node->bytes = std::move(bytes);
    nodes_.emplace(path, std::move(node));
  }
  // Time, randomness and the loading of extensions come from the platform.
  vfs_ = *sqlite3_vfs_find(nullptr);
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(MemoryVfs::Handle));
  vfs_.xOpen = &MemoryVfs::open;
  vfs_.xDelete = &MemoryVfs::remove;
  vfs_.xAccess = &MemoryVfs::access;
  vfs_.xFullPathname = &MemoryVfs::fullPath;
  vfs_.xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
  sqlite3_vfs_register(&vfs_, 0);
}

MemoryDisk::~MemoryDisk() {
  sqlite3_vfs_unregister(&vfs_);
}

std::size_t MemoryDisk::roomFor(const Node& file) const {
  std::size_t others = 0;
  for (const auto& [path, node] : nodes_) {
    others += node.get() == &file ? 0 : node->bytes.size();
  }
  return capacity - std::min(capacity, others);
}

DiskFiles MemoryDisk::files() const {
  const std::scoped_lock lock(mutex_);
  DiskFiles files;
  for (const auto& [path, node] : nodes_) {
    files.emplace(path, node->bytes);
  }
  return files;
}

bool MemoryDisk::alter(const std::string& path, const std::function<void(std::string& bytes)>& change) {
  constexpr std::string_view kShared = "-shm";
  const std::scoped_lock lock(mutex_);
  if (const auto known = nodes_.find(path); known != nodes_.end()) {
    change(known->second->bytes);
    return true;
  }
  const auto owner = path.ends_with(kShared) ? nodes_.find(path.substr(0, path.size() - kShared.size())) : nodes_.end();
  if (owner == nodes_.end() || owner->second->shm.empty()) {
    return false;
  }
  std::string bytes;
  for (const auto& region : owner->second->shm) {
    bytes.append(region->begin(), region->end());
  }
  const std::size_t size = bytes.size();
  change(bytes);
  bytes.resize(size);
  auto from = bytes.begin();
  for (const auto& region : owner->second->shm) {
    std::copy_n(from, region->size(), region->begin());
    from += static_cast<std::ptrdiff_t>(region->size());
  }
  return true;
}

void MemoryDisk::evict(const std::string& path, std::string onDisk) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = nodes_.find(path); found != nodes_.end()) {
    found->second->bytes = std::move(onDisk);
  }
}

void MemoryDisk::note(DiskCall kind, const std::string& path, std::size_t offset, std::string_view bytes) const {
  if (record_) {
    record_->add({kind, number_, path, offset, std::string(bytes)});
  }
}

}  // namespace ackbox::testing
