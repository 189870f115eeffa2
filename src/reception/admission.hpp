#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/sender.hpp"
#include "reception/types.hpp"

namespace ackbox::reception {

/// The next step for a frame of a request.
enum class Step : std::uint8_t {
  // Checks; each one fills the member of `Known` that is named.

  /// Reads its mark: `mark`.
  readMark,
  /// For a frame with a mark: whether it is taken again (`take`), and otherwise how it relates to the waiting frame of
  /// its number: `inInbox`.
  compareWaiting,
  /// For a frame outside sessions without a mark: whether it waits (`duplicate`) or not (`take`): `inInbox`.
  findWaiting,
  /// Whether its sender is at a limit: `sender`.
  checkLimits,
  /// Whether its data can be read as results: `isReadable`.
  readAckEvent,
  /// Whether frames of its type are deferred without their handler: `isAlwaysDeferred`.
  checkType,
  /// Whether a frame of its session waits: `isBehindWaiting`.
  findEarlier,
  /// Calls its handler and notes the outcome: `handled`.
  callHandler,
  /// Whether the inbox has room for it: `inbox`.
  checkRoom,

  // Outcomes.

  /// It is not taken, with the answer `Decision::result`.
  refuse,
  /// A duplicate: it has no effect, and is answered with its known outcome.
  repeat,
  /// Its results are applied, and it is marked.
  applyAckEvent,
  /// It is put into the inbox and marked.
  keep,
  /// Its answer is the handler's; an `ack` is marked.
  answer,
};

/// The result of a check of limits.
struct LimitCheck {
  std::optional<InboundLimit> reached = {};
};

/// The facts known about a frame. A member without a value is not known yet.
struct Known {
  WallTime now = {};
  /// The refusal because of its form, found when it was read; null: its form is valid.
  const FrameResult* refusal = nullptr;
  bool isAckEvent = false;
  /// Its handler ended the transaction of an earlier attempt at this request.
  bool hasEndedTransaction = false;
  std::optional<AdmissionReply> mark = {};
  std::optional<Admission> inInbox = {};
  std::optional<LimitCheck> sender = {};
  std::optional<bool> isReadable = {};
  std::optional<bool> isAlwaysDeferred = {};
  std::optional<bool> isBehindWaiting = {};
  std::optional<Outcome> handled = {};
  std::optional<LimitCheck> inbox = {};
};

struct Decision {
  Step step = Step::readMark;
  /// For `refuse`.
  FrameResult result = {};
  /// For `refuse`: the kind that it is counted as.
  std::optional<Admission> counted = {};
};

/// The rules for all frames of a request.
struct AdmissionRules {
  /// This agent's URI.
  std::string_view agent = {};
  /// Whether there is a handler for deferred frames.
  bool canDefer = false;
};

/// The progress of a session, for the answer.
struct SessionReach {
  /// One of its frames, which names it.
  const InboundFrame* frame = nullptr;
  std::uint64_t accepted = 0;
  /// The id of the frame accepted with that number; empty: not known.
  std::string acceptedId = {};

  /// The number up to which all frames have ended, given the lowest number that waits.
  [[nodiscard]] std::uint64_t settled(std::optional<std::uint64_t> firstWaiting) const noexcept {
    return firstWaiting ? *firstWaiting - 1 : accepted;
  }
};

/// Decides the outcome of each frame of one request, in order. After `begin` for a frame, `next` is called with the
/// findings of the earlier steps until it returns an outcome; then `end` is called with the answer.
///
/// The order of the checks avoids needless queries of the store: first the form of the frame, then duplicates, then its
/// expiry, then limits, and last the handler or the inbox.
///
/// Lifetime: agent and frames outlive it. Thread-safety: none.
class RequestAdmission {
public:
  explicit RequestAdmission(const AdmissionRules& rules) : rules_(rules) {}

  void begin(const InboundFrame& frame);
  [[nodiscard]] Decision next(const Known& known) const;
  /// Notes the frame's last step and the outcome of its answer.
  void end(const Known& known, Step step, Outcome outcome);
  /// The sessions with progress, in the order in which frames named them.
  [[nodiscard]] std::span<const SessionReach> reached() const noexcept { return reached_; }

private:
  /// A store's name is chosen by its sender, so two frames are of one session only if both agree.
  struct SessionName {
    std::string_view session;
    std::string_view source;
    std::string_view origin;
    std::string_view mailbox;
    auto operator<=>(const SessionName&) const = default;  // NOLINT(modernize-use-nullptr): version 14 misreads it
  };
  /// The effect of earlier frames of the request on a session.
  struct Session {
    /// An earlier frame was not taken.
    bool isStopped = false;
    /// An earlier frame was a duplicate.
    bool isRepeated = false;
    /// An earlier frame was put into the inbox.
    bool hasWaiting = false;
    /// Its index in `reached_`.
    std::optional<std::size_t> place = {};
  };

  [[nodiscard]] Decision judgeMark(const Known& known) const;
  [[nodiscard]] Decision takeNew(const Known& known) const;
  void reach(std::uint64_t accepted, const std::string& acceptedId);

  AdmissionRules rules_;
  // The current frame and its session, looked up once because `next` is called several times for each frame.
  const InboundFrame* frame_ = nullptr;
  Session* session_ = nullptr;
  // For frames outside sessions; stays empty.
  Session none_;
  std::map<SessionName, Session> sessions_;
  std::vector<SessionReach> reached_;
};

/// How long the application of a deferred frame has been away. The answer reports it, because the sender cannot see why
/// an outcome is missing. `awaySince` has no value if the application is connected or unknown.
[[nodiscard]] std::optional<std::chrono::milliseconds> unattendedFor(std::optional<WallTime> awaySince, WallTime now);

}  // namespace ackbox::reception
