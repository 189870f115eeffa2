#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::serve {

struct Request;

/// What a line of the tokens file limits its token to.
struct Limits {
  /// Names of peers. `*` is not the name of a peer: it permits to publish to all subscribers. Empty: no limit.
  std::vector<std::string> peers = {};
  /// Patterns of the types that may be enqueued. Empty: no limit.
  std::vector<std::string> types = {};

  [[nodiscard]] bool isEmpty() const noexcept { return peers.empty() && types.empty(); }
  [[nodiscard]] bool hasPeer(std::string_view peer) const noexcept;
  [[nodiscard]] bool hasType(std::string_view type) const noexcept;
  /// As in the tokens file: `peer=bob, type=order.*`.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// A request beyond the limits of its token. Answered with 403.
class BeyondLimits : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The sentence that says what the token of this caller may.
[[nodiscard]] std::string limitsSentence(std::string_view caller, const Limits& limits);

// The functions below throw `BeyondLimits`, after a call of `Request::onBeyondLimits`.

void requirePeer(const Request& request, std::string_view peer);
void requireType(const Request& request, std::string_view type);
/// The filter of a list or a change must choose one peer of the limits; a sole one is chosen for it.
void limitPeer(const Request& request, std::optional<std::string>& peer);

}  // namespace ackbox::serve
