#pragma once

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::testing {

/// The contents of a disk, by path.
using DiskFiles = std::map<std::string, std::string>;

/// The calls of SQLite to the machine below it.
enum class DiskCall : std::uint8_t {
  open,
  read,
  write,
  truncate,
  sync,
  fileSize,
  remove,
  access,
  lock,
  shmMap,
  shmLock,
  /// Not a call: records that a sync failed, and that the changes of the file that were unsynced then will never reach
  /// the disk, see `MemoryDisk::forgets`.
  forget,
};

/// One change, as it reached the disk's cache.
struct DiskOperation {
  /// `open`: the creation of the file.
  DiskCall kind = DiskCall::write;
  /// The index among several recorded disks.
  std::size_t disk = 0;
  std::string path;
  std::size_t offset = 0;
  /// `truncate`: `offset` is the new size. `forget`: it is 0, or the seed of the coins that choose the pages.
  std::string bytes;
};

/// The changes of one or several disks, in order. Its length serves as the clock of power cuts.
///
/// Thread-safety: all members may be called from any thread.
class DiskRecord {
public:
  void add(DiskOperation operation);
  [[nodiscard]] std::size_t length() const;
  /// Call it only after the last change.
  [[nodiscard]] const std::vector<DiskOperation>& operations() const noexcept { return operations_; }

  /// How often a write-ahead log was written: one write for several calls of SQLite, and SQLite's calls one by one
  /// (counted by the 24 bytes of a frame's header alone).
  struct LogWrites {
    std::size_t batched = 0;
    std::size_t single = 0;
  };
  [[nodiscard]] LogWrites logWrites() const;

private:
  mutable std::mutex mutex_;
  std::vector<DiskOperation> operations_;
};

/// The files of one machine in memory, as an SQLite VFS with locks and shared memory: fast and hermetic. A test
/// controls it: it may record writes and refuse calls.
///
/// Sleeping takes no time. Locks are those of one process: a real second process cannot share it.
/// Thread-safety: SQLite may use it from any thread; `onCall` is set between uses.
class MemoryDisk {
public:
  /// Decides about one call before it happens: SQLITE_OK, or the error code. A refused write may leave a torn half.
  using OnCall = std::function<int(DiskCall call, const std::string& path)>;

  explicit MemoryDisk(DiskFiles files = {}, std::shared_ptr<DiskRecord> record = {}, std::size_t number = 0);
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  /// For `OutboxOptions::vfs`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DiskFiles files() const;

  /// Changes the contents of a file without SQLite's knowledge and unrecorded. The path of an open file with `-shm`
  /// appended names its shared memory, which keeps its size. False: there is no such file.
  bool alter(const std::string& path, const std::function<void(std::string& bytes)>& change);

  OnCall onCall;
  /// The capacity for all files together: a write beyond it writes the part that fits and fails with SQLITE_FULL.
  std::size_t capacity = std::numeric_limits<std::size_t>::max();
  /// Syncs report success and do nothing, as with a lying disk or a library without fsync.
  bool ignoresSyncs = false;
  /// A sync that `onCall` refuses forgets the data that it should have written, as Linux does: the pages count as
  /// written from then on and can be read, although not all of them are on the disk, and the next sync reports success.
  /// Each handle that was open then reports the failure once, by its own next sync; handles that are opened later never
  /// do.
  bool forgets = false;
  /// 0: no page reached the disk. Otherwise coins with this seed decide for each page.
  std::uint64_t forgetSeed = 0;
  /// Whether a torn write spares its neighbours. If not, the store leaves its log to SQLite.
  bool sparesNeighbours = true;

  /// From now on a file with a `DiskCall::forget` in its record reads as its contents on the disk: the pages were
  /// evicted from the machine's memory.
  void evict(const std::string& path, std::string onDisk);

private:
  friend struct MemoryVfs;

  static constexpr std::size_t kShmLocks = SQLITE_SHM_NLOCK;

  /// One file. A lock identifies its holder by the address of the handle.
  struct Node {
    std::string path;
    std::string bytes;
    std::size_t sharers = 0;
    const void* reserved = nullptr;
    const void* pending = nullptr;
    std::vector<std::unique_ptr<std::vector<char>>> shm;
    std::size_t shmUsers = 0;
    std::array<std::size_t, kShmLocks> shmSharers{};
    std::array<const void*, kShmLocks> shmOwners{};
    // The number of its syncs that failed and forgot.
    std::size_t failures = 0;
  };

  /// The length to which the file may grow.
  [[nodiscard]] std::size_t roomFor(const Node& file) const;
  int refuse(DiskCall call, const std::string& path) const { return onCall ? onCall(call, path) : SQLITE_OK; }
  void note(DiskCall kind, const std::string& path, std::size_t offset = 0, std::string_view bytes = {}) const;

  const std::string name_;
  const std::size_t number_;
  const std::shared_ptr<DiskRecord> record_;
  sqlite3_vfs vfs_{};

  mutable std::recursive_mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<Node>> nodes_;
};

}  // namespace ackbox::testing
