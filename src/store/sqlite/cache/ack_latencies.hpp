#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "ackbox/clock.hpp"
#include "store/latency_window.hpp"
#include "store/sqlite/cache/write_back.hpp"

namespace ackbox::store::sqlite {

/// The latencies of the messages that this transaction acknowledges; its commit adds them to the window.
///
/// Thread-safety: none.
class AckLatencies final : public WriteBack {
public:
  AckLatencies(LatencyWindow& window, const Clock& clock) : window_(window), clock_(clock) {}

  void acknowledged(WallTime enqueuedAt, WallTime now) { latencies_.push_back(now - enqueuedAt); }

  void committed() noexcept override {
    if (!latencies_.empty()) {
      window_.record(latencies_, clock_.steadyNow());
      latencies_.clear();
    }
    scopes_.clear();
  }
  void rolledBack() noexcept override {
    latencies_.clear();
    scopes_.clear();
  }
  void scopeBegun() override { scopes_.push_back(latencies_.size()); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override {
    latencies_.erase(latencies_.begin() + static_cast<std::ptrdiff_t>(scopes_.back()), latencies_.end());
    scopes_.pop_back();
  }
  /// The latencies do not depend on the file.
  void forget() noexcept override {}

private:
  LatencyWindow& window_;
  const Clock& clock_;
  std::vector<std::chrono::milliseconds> latencies_;
  std::vector<std::size_t> scopes_;
};

}  // namespace ackbox::store::sqlite
