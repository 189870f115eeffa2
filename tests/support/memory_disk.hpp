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

/// What a disk holds: contents by path.
using DiskFiles = std::map<std::string, std::string>;

/// What SQLite asks of the machine below it.
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
  /// Asked by nobody: a sync failed, and what was not synced of the file until then will never be on the disk, see
  /// `MemoryDisk::forgets`.
  forget,
};

/// One change, as it reached the disk's cache.
struct DiskOperation {
  /// `open` stands for the creation of the file.
  DiskCall kind = DiskCall::write;
  /// Which of several recorded disks.
  std::size_t disk = 0;
  std::string path;
  std::size_t offset = 0;
  /// `truncate`: the new size is `offset`. `forget`: 0, or the seed of the coins that say which pages got there.
  std::string bytes;
};

/// What happened on one or several disks, in order. Its length is the only clock that power cuts know.
///
/// Thread-safety: all members may be called from any thread.
class DiskRecord {
public:
  void add(DiskOperation operation);
  [[nodiscard]] std::size_t length() const;
  /// Once nothing is added any more.
  [[nodiscard]] const std::vector<DiskOperation>& operations() const noexcept { return operations_; }

  /// How often a write-ahead log was written: several calls of SQLite's by one, and its calls one by one (the 24 bytes
  /// of a frame's header alone).
  struct LogWrites {
    std::size_t batched = 0;
    std::size_t single = 0;
  };
  [[nodiscard]] LogWrites logWrites() const;

private:
  mutable std::mutex mutex_;
  std::vector<DiskOperation> operations_;
};

/// The files of one machine, in memory, as an SQLite VFS with locks and shared memory: fast, hermetic, and in the hands
/// of a test, which may record what is written, and refuse calls.
///
/// Sleeping takes no time. Locks are those of one process: a real second process cannot share it.
/// Thread-safety: SQLite may use it from any thread; `onCall` is set between uses.
class MemoryDisk {
public:
  /// Decides over one call before it happens: SQLITE_OK, or the code that it fails with. A refused write may leave a
  /// torn half.
  using OnCall = std::function<int(DiskCall call, const std::string& path)>;

  explicit MemoryDisk(DiskFiles files = {}, std::shared_ptr<DiskRecord> record = {}, std::size_t number = 0);
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  /// For `OutboxOptions::vfs`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DiskFiles files() const;

  /// Changes what a file holds, behind SQLite's back and unrecorded; `-shm` behind the path of one that is open stands
  /// for its shared memory, which keeps its size. False: there is none.
  bool alter(const std::string& path, const std::function<void(std::string& bytes)>& change);

  OnCall onCall;
  /// What all files together may take up: a write beyond it writes what fits and fails with SQLITE_FULL.
  std::size_t capacity = std::numeric_limits<std::size_t>::max();
  /// Syncs report success and do nothing: a lying disk, or a library that forgot them.
  bool ignoresSyncs = false;
  /// A sync that `onCall` refuses forgets what it should have written, as Linux does: the pages count as written from
  /// then on, though not all of them are on the disk, they can be read as if they were, and the next sync reports
  /// success. Each handle that was open then reports the failure once, by its own next sync; handles that are opened
  /// later never do.
  bool forgets = false;
  /// 0: nothing of it got to the disk. Otherwise coins with this seed decide over each page.
  std::uint64_t forgetSeed = 0;
  /// Whether a torn write spares its neighbours. Without it the store leaves its log to SQLite.
  bool sparesNeighbours = true;

  /// From now on a file that `DiskCall::forget` was noted of reads as what is on the disk: the pages were thrown out of
  /// the machine's memory.
  void evict(const std::string& path, std::string onDisk);

private:
  friend struct MemoryVfs;

  static constexpr std::size_t kShmLocks = SQLITE_SHM_NLOCK;

  /// One file. Locks name the holder by the address of its handle.
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
    // Syncs of it that failed and forgot.
    std::size_t failures = 0;
  };

  /// How long it may become.
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
