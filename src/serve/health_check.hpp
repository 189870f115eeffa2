#pragma once

#include <chrono>
#include <string>

namespace ackbox::serve {

struct HealthCheckResult {
  bool isReady = false;
  /// What was answered, or why nothing was.
  std::string text = {};
};

/// Asks the server at `url`, `http://address:port` or `unix:PATH`, whether it is ready. Blocks, each step of it for
/// `timeout` at most.
[[nodiscard]] HealthCheckResult checkHealth(const std::string& url,
                                            std::chrono::seconds timeout = std::chrono::seconds(3));

}  // namespace ackbox::serve
