#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace ackbox::store::sqlite {

/// Proves to other processes that this one lives, and detects at once that another has died.
///
/// Thread-safety: none; used by one `Store`.
class Liveness {
public:
  virtual ~Liveness() = default;

  /// Holds `owner`'s lock until this object ends or the process dies. Throws `Error` with `ioError` or `cannotOpen`.
  virtual void hold(std::int64_t owner) = 0;

  /// Whether a process holds `owner`'s lock now.
  [[nodiscard]] virtual bool alive(std::int64_t owner) const = 0;

  /// Shows processes that open the file later whether its log is doubtful (`Connection::isLogDoubtful`); the kernel
  /// reports a failed sync only to processes that had the log open. False if this could not be changed.
  [[nodiscard]] virtual bool showDoubt(bool isDoubtful) noexcept = 0;
  [[nodiscard]] virtual bool showsDoubt() const noexcept = 0;
};

/// Kernel locks (open file description locks, byte `owner`) on a separate sidecar file: the kernel drops them when the
/// process dies. Not on SQLite's own files, because a close would drop SQLite's POSIX locks. A doubtful log is shown by
/// the sidecar's length, 1 instead of 0, which does not depend on a page write. The sidecar gets the mode and, where
/// this process may set it, the owner of `database`.
[[nodiscard]] std::shared_ptr<Liveness> kernelLiveness(const std::filesystem::path& sidecar,
                                                       const std::filesystem::path& database = {});

/// The sidecar of the connection's file. There is one for each set of tables, because each set numbers its owners; it
/// is named after SQLite's form of the path, so that two names of one file (a symbolic link, a relative path) lead to
/// the same locks.
[[nodiscard]] std::filesystem::path ownersFile(sqlite3* connection, std::string_view prefix);

/// Whether `owner` lives, for callers outside the store. Without a sidecar, it counts as alive.
[[nodiscard]] bool ownerLives(const std::filesystem::path& sidecar, std::int64_t owner);

}  // namespace ackbox::store::sqlite
