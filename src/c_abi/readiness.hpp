#pragma once

#include <cstdint>

#include "base/mutex.hpp"

namespace ackbox::c_abi {

/// A descriptor that is readable while one of its sources has something for the program.
///
/// Thread-safety: all members may be called from any thread.
class Readiness {
public:
  enum class Source : std::uint8_t { frames = 1, events = 2 };

  /// Throws `Error` with `outOfDescriptors`.
  Readiness();
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void set(Source source, bool isReady) noexcept;

private:
  const int descriptor_;
  Mutex mutex_;
  unsigned ready_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::c_abi
