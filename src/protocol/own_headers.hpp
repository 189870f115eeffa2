#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/secret.hpp"

namespace ackbox::protocol {

/// The headers that a user adds to each request to a peer or an application, such as `Authorization`. Their values are
/// secret.
///
/// Thread-safety: all members may be called from any thread.
class OwnHeaders {
public:
  /// No header.
  OwnHeaders() = default;
  /// Reads lines of the form `Name: value`.
  /// Throws `Error` with `invalidOption`, which gives the position of a wrong line, not its text.
  explicit OwnHeaders(std::span<const Secret> lines);

  [[nodiscard]] bool isEmpty() const noexcept { return lines_.empty(); }

  void addTo(std::vector<std::pair<std::string, std::string>>& headers) const;

private:
  std::vector<Secret> lines_;
};

}  // namespace ackbox::protocol
