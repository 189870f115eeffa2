#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox::serve {

/// Decides when a token of OAuth2 is used, when it is fetched, and what a failure means for those that need it. One
/// fetch is under way at a time.
///
/// Pure; time is passed in. Thread-safety: none.
class TokenMachine {
public:
  enum class Step : std::uint8_t {
    /// The token is valid.
    use,
    /// Fetch a token: the caller must report the end by `fetched`, `failed` or `cancelled`.
    fetch,
    /// A fetch is under way.
    wait,
    /// There is no token, and it is too early to ask again: see `cause` and `pause`.
    refuse,
  };

  /// Somebody needs the token.
  [[nodiscard]] Step asked(SteadyTime now);

  /// `lifetime` is what the token server says; nothing if it says nothing.
  void fetched(std::optional<std::chrono::seconds> lifetime, SteadyTime now);
  /// `isRefusal`: the token server refuses this client, which time alone does not mend.
  void failed(std::string cause, bool isRefusal, std::optional<std::chrono::milliseconds> retryAfter, SteadyTime now);
  void cancelled() noexcept { isFetching_ = false; }

  /// The receiver answered 401 to the token with this number. Returns whether to repeat the request, with the token
  /// that `asked` then leads to. A token is given up for a 401 once a minute at most.
  [[nodiscard]] bool refused(std::uint64_t number, SteadyTime now);

  /// Whether the last token has not expired, also while the fetch of the next one fails.
  [[nodiscard]] bool isValid(SteadyTime now) const noexcept { return now < expiresAt_; }
  /// The number of the last token; 0: there was none.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Why the last fetch failed; empty if it did not.
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }
  /// How long `asked` refuses.
  [[nodiscard]] std::chrono::milliseconds pause(SteadyTime now) const noexcept;

private:
  std::uint64_t number_ = 0;
  bool isFetching_ = false;
  // The token is replaced from the first instant on, and not used from the second on.
  SteadyTime renewAt_{};
  SteadyTime expiresAt_{};
  unsigned failures_ = 0;
  SteadyTime retryAt_{};
  std::optional<SteadyTime> givenUpAt_;
  std::string cause_;
};

}  // namespace ackbox::serve
