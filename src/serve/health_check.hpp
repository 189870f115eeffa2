#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ackbox::serve {

struct HealthCheckResult {
  enum class State : std::uint8_t { ready, notReady, wrongUrl };

  State state = State::notReady;
  /// The answer, or why there was no answer.
  std::string text = {};
};

/// Asks the server at `url`, `http://address:port` or `unix:PATH`, whether it is ready. Blocks for at most `timeout` in
/// total.
[[nodiscard]] HealthCheckResult checkHealth(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace ackbox::serve
