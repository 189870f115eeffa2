#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ackbox::cli {

/// A process that has an outbox's file, its log or the log's index open.
struct FileUser {
  std::int64_t pid = 0;
  /// Its program's name, for people.
  std::string program;
};

/// The processes that have an outbox open, as managers, as readers or through SQLite.
struct FileUsers {
  std::vector<FileUser> processes;
  /// A process that this user cannot see, of another user or container, holds a lock of SQLite or ackbox.
  bool isLocked = false;

  [[nodiscard]] bool any() const noexcept { return isLocked || !processes.empty(); }
  /// `process 12 (agent), process 13 (sqlite3)`.
  [[nodiscard]] std::string text() const;
};

/// The processes that have `file` open. Asks the kernel, not SQLite, and so works on a damaged file. `sidecar` is the
/// path of its owners file.
[[nodiscard]] FileUsers usersOf(const std::filesystem::path& file, const std::filesystem::path& sidecar);

/// The owners file of the outbox with this prefix in `file`; works even if `file` cannot be read.
[[nodiscard]] std::filesystem::path sidecarOf(const std::filesystem::path& file, const std::string& prefix);

}  // namespace ackbox::cli
