#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ackbox::bench {

/// What SQLite asked of the disk.
struct DiskCounts {
  /// Syncs of write-ahead logs, each of them an fdatasync or fsync of the platform's VFS.
  std::atomic<std::uint64_t> logSyncs{0};
  /// Syncs of database files, by checkpoints.
  std::atomic<std::uint64_t> databaseSyncs{0};
  /// Commit frames written to write-ahead logs, with or without a sync.
  std::atomic<std::uint64_t> commits{0};

  void reset() noexcept {
    logSyncs = 0;
    databaseSyncs = 0;
    commits = 0;
  }
};

/// Puts a VFS in the place of this process's default one, so that whoever opens a file, ackbox or baseline, goes
/// through it: the platform's, with its syncs and commits counted, because the proof that a durable commit was synced
/// must not rest on what the library says of itself; and slowed, when `SlowDisk` says so. To be called before any file
/// is opened. Throws `std::runtime_error`.
void measureDisk();

/// The counts of this process.
[[nodiscard]] DiskCounts& diskCounts() noexcept;

/// How much longer each sync takes than it does.
[[nodiscard]] std::chrono::microseconds syncDelay() noexcept;
void setSyncDelay(std::chrono::microseconds delay) noexcept;

/// How much longer a sync takes on a disk that is slow, as many are.
inline constexpr std::chrono::milliseconds kSlowSync{2};

/// While it lives, every sync of this process takes `delay` longer, and so does every sync of the processes that are
/// started meanwhile: a disk such as many machines have, with the processor of this one.
class SlowDisk {
public:
  explicit SlowDisk(std::chrono::microseconds delay) { setSyncDelay(delay); }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  ~SlowDisk() { setSyncDelay(std::chrono::microseconds(0)); }
};

}  // namespace ackbox::bench
