#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace ackbox::store::sqlite {

/// How a process proves that it lives, and learns at once that another does not.
///
/// Thread-safety: none; used by one `Store`.
class Liveness {
public:
  virtual ~Liveness() = default;

  /// Holds `owner`'s life until this object ends or the process dies. Throws `Error` with `ioError` or `cannotOpen`.
  virtual void hold(std::int64_t owner) = 0;

  /// Whether some process holds `owner`'s life now.
  [[nodiscard]] virtual bool alive(std::int64_t owner) const = 0;

  /// Shows processes that open the file later whether its log is doubtful (`Connection::isLogDoubtful`); the kernel
  /// reports a failed sync only to those that had the log open. False: it cannot be changed what they see.
  [[nodiscard]] virtual bool showDoubt(bool isDoubtful) noexcept = 0;
  [[nodiscard]] virtual bool showsDoubt() const noexcept = 0;
};

/// Kernel locks (open file description locks, byte `owner`) on a sidecar file of our own: the kernel drops them when
/// the process dies, however it dies. Never on SQLite's own files, whose POSIX locks a close would drop.
/// A doubtful log is shown by the sidecar's length, 1 instead of 0, which no write of a page can lose.
/// The sidecar takes the mode, and where this process may give it away, the owner of `database`.
[[nodiscard]] std::shared_ptr<Liveness> kernelLiveness(const std::filesystem::path& sidecar,
                                                       const std::filesystem::path& database = {});

/// The sidecar of the connection's file. One for each set of tables, as owners are numbered by them; named after
/// SQLite's own idea of the path, so that two names of one file (a symbolic link, a relative path) lead to the same
/// locks.
[[nodiscard]] std::filesystem::path ownersFile(sqlite3* connection, std::string_view prefix);

/// Whether `owner` lives, asked from outside the store. Without a sidecar to ask, it lives.
[[nodiscard]] bool ownerLives(const std::filesystem::path& sidecar, std::int64_t owner);

}  // namespace ackbox::store::sqlite
