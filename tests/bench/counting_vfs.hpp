#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace ackbox::bench {

/// What SQLite asked of the disk through the counting VFS.
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

/// The platform's VFS with its syncs and commits counted: the proof that a durable commit was synced does not rest on
/// what the library says of itself. Registered at the first call; for `OutboxOptions::vfs`.
[[nodiscard]] const std::string& countingVfs();

/// The counts of all files opened through it, in this process.
[[nodiscard]] DiskCounts& diskCounts() noexcept;

}  // namespace ackbox::bench
