#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace ackbox::store {

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
};

/// Kernel locks (open file description locks, byte `owner`) on a sidecar file of our own: the kernel drops them when
/// the process dies, however it dies. Never on SQLite's own files, whose POSIX locks a close would drop.
[[nodiscard]] std::shared_ptr<Liveness> kernelLiveness(const std::filesystem::path& sidecar);

}  // namespace ackbox::store
