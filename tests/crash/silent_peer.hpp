#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace crash {

/// A peer that accepts connections and requests and never answers.
class SilentPeer {
public:
  /// Listens on a loopback port. Throws `std::system_error`.
  SilentPeer();
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;
  ~SilentPeer();

  [[nodiscard]] std::string url() const;

  /// The time at which the first bytes of a request came; nothing if none came within `patience`.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> awaitRequest(std::chrono::milliseconds patience);

private:
  int listener_ = -1;
  int connection_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace crash
