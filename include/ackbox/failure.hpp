#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/clock.hpp"

namespace ackbox {

/// The decision about a message that failed.
class FailureDecision {
public:
  enum class Action : std::uint8_t {
    /// The retry policy and the peer's answer decide.
    byPolicy,
    /// Tried again, not before a calendar instant. The attempt is charged, but only the horizon gives the message up,
    /// not the budget. For an unordered message, an instant more than an hour ahead holds only in the run that decided;
    /// the next run may try the message earlier.
    retryAt,
    /// A dead letter.
    deadLetter,
    /// A dead letter that stops its session as `GapPolicy::block` does, whatever that policy is.
    block,
    /// Deleted, and its session goes on. `onFailed` is called with reason `discarded-by-policy`, and
    /// `Stats::failedTotal` counts it.
    discard,
  };

  [[nodiscard]] static FailureDecision byPolicy() { return {Action::byPolicy, {}, {}}; }
  [[nodiscard]] static FailureDecision retryAt(WallTime instant) { return {Action::retryAt, instant, {}}; }
  /// `reason` is short and stable; if empty, the reason is the one without this decision.
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

/// The arguments of a `FailureFunction`. The texts are valid during the call.
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
  /// The peer's code and its text for people.
  std::string_view code = {};
  std::string_view detail = {};
  /// True: without a decision the message becomes a dead letter. False: it is tried again.
  bool isFinal = false;
  /// For a final failure: the dead letter's reason without a decision.
  std::string_view reason = {};
};

/// Decides about a failure of the message itself: an answer other than an acknowledgement, or the finding that it
/// crashes the peer. Not called for outages, which are the peer's, nor for messages that expire before they are sent.
///
/// Called on the delivery executor; must not block. If it throws, the policies decide, and the message's last error and
/// its event say so.
using FailureFunction = std::function<FailureDecision(const FailureContext&)>;

}  // namespace ackbox
