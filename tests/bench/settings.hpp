#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>

namespace ackbox::bench {

/// How much each measurement does, and where.
struct Settings {
  /// Messages per measurement; 0: as many as fit in `duration`.
  std::uint64_t count = 0;
  std::chrono::milliseconds duration = std::chrono::seconds(1);
  /// An empty folder on the disk that is measured.
  std::filesystem::path folder;
};

/// Says when a measurement has done enough; shared by its threads. Begins with its construction.
class Budget {
public:
  explicit Budget(const Settings& settings)
      : count_(settings.count), deadline_(std::chrono::steady_clock::now() + settings.duration) {}

  /// Whether `messages` more are to be done.
  [[nodiscard]] bool take(std::uint64_t messages = 1) {
    if (count_ != 0) {
      return taken_.fetch_add(messages, std::memory_order_relaxed) < count_;
    }
    return std::chrono::steady_clock::now() < deadline_;
  }

private:
  const std::uint64_t count_;
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace ackbox::bench
