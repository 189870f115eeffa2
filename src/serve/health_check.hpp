#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ackbox::serve {

struct HealthCheckResult {
  enum class State : std::uint8_t { ready, notReady, wrongUrl };

  State state = State::notReady;
  /// What was answered, or why nothing was.
  std::string text = {};
};

/// Asks the server at `url`, `http://address:port` or `unix:PATH`, whether it is ready. Blocks, for `timeout` at most
/// over all.
[[nodiscard]] HealthCheckResult checkHealth(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace ackbox::serve
