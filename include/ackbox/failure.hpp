#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/clock.hpp"

namespace ackbox {

/// What becomes of a message that failed.
class FailureDecision {
public:
  enum class Action : std::uint8_t {
    /// As the retry policy and the peer's answer say.
    byPolicy,
    /// Tried again, not before an instant of the calendar. Charged, but given up only by the horizon, not by the
    /// budget.
    /// An unordered message keeps an instant more than an hour ahead only in the run that decided: the next one may
    /// come
    /// before it.
    retryAt,
    /// A dead letter.
    deadLetter,
    /// A dead letter that stops its session as `GapPolicy::block` does, whatever that policy is.
    block,
    /// Thrown away, and its session goes on. Not in silence: `onFailed` is called, with reason `discarded-by-policy`,
    /// and `Stats::failedTotal` counts it.
    discard,
  };

  [[nodiscard]] static FailureDecision byPolicy() { return {Action::byPolicy, {}, {}}; }
  [[nodiscard]] static FailureDecision retryAt(WallTime instant) { return {Action::retryAt, instant, {}}; }
  /// `reason` is short and stable; empty: the reason that it would have had.
  [[nodiscard]] static FailureDecision deadLetter(std::string reason = {}) {
    return {Action::deadLetter, {}, std::move(reason)};
  }
  [[nodiscard]] static FailureDecision block(std::string reason = {}) { return {Action::block, {}, std::move(reason)}; }
  [[nodiscard]] static FailureDecision discard() { return {Action::discard, {}, {}}; }

  [[nodiscard]] Action action() const noexcept { return action_; }
  /// For `retryAt`.
  [[nodiscard]] WallTime instant() const noexcept { return instant_; }
  /// For `deadLetter` and `block`.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

private:
  FailureDecision(Action action, WallTime instant, std::string reason)
      : action_(action), instant_(instant), reason_(std::move(reason)) {}

  Action action_;
  WallTime instant_;
  std::string reason_;
};

/// What a failure function gets. The texts are valid during the call.
struct FailureContext {
  std::string_view messageId = {};
  std::string_view type = {};
  std::string_view peer = {};
  std::string_view session = {};
  std::uint64_t sequence = 0;
  /// Charged failures before this one.
  std::uint32_t retryCount = 0;
  WallTime enqueuedAt{};
  WallTime now{};
  /// The peer's code and what it says for people.
  std::string_view code = {};
  std::string_view detail = {};
  /// True: without a decision the message becomes a dead letter. False: it is tried again.
  bool isFinal = false;
  /// For a final failure: the reason that it would have.
  std::string_view reason = {};
};

/// Decides on a failure that is the message's own: an answer that was no acknowledgement, or the end of a search for
/// what kills the peer. Not asked of outages, which are the peer's, nor of what expires before it is sent.
///
/// Called on the delivery executor; must not block. When it throws, the policies decide, and the message's last error
/// and its event say so.
using FailureFunction = std::function<FailureDecision(const FailureContext&)>;

}  // namespace ackbox
