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

/// What is done next with a frame of a request.
enum class Step : std::uint8_t {
  // What is to be found out, for the member of `Known` that is named.

  /// What its mark says: `mark`.
  readMark,
  /// Of a frame that has a mark: whether it is taken anew (`take`), and otherwise what it is beside the frame of its
  /// number that waits: `inInbox`.
  compareWaiting,
  /// Of a frame outside sessions without a mark: whether it waits (`duplicate`) or not (`take`): `inInbox`.
  findWaiting,
  /// Whether its sender is at a limit: `sender`.
  checkLimits,
  /// Whether its data can be read as results: `isReadable`.
  readAckEvent,
  /// Whether frames of its type are deferred without their handler: `isAlwaysDeferred`.
  checkType,
  /// Whether a frame of its session waits: `isBehindWaiting`.
  findEarlier,
  /// What its handler answers: `handled`.
  callHandler,
  /// Whether the inbox has room for it: `inbox`.
  checkRoom,

  // What becomes of it.

  /// It is not taken, for `Decision::result`.
  refuse,
  /// It came before: it has no effect, and its answer is what is known of it.
  repeat,
  /// Its results are applied, and it is marked.
  applyAckEvent,
  /// It waits in the inbox, and is marked.
  keep,
  /// Its answer is the handler's; an `ack` is marked.
  answer,
};

/// What a check of limits has found.
struct LimitCheck {
  std::optional<InboundLimit> reached = {};
};

/// What is known of a frame. What has no value is not known yet.
struct Known {
  WallTime now = {};
  /// Why it is refused, as it was read; null: nothing is wrong with its form.
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
  /// Of `refuse`.
  FrameResult result = {};
  /// Of `refuse`: what it is counted as.
  std::optional<Admission> counted = {};
};

/// What holds for all frames of a request.
struct AdmissionRules {
  /// This agent's URI.
  std::string_view agent = {};
  /// Whether a handler for deferred frames is there.
  bool canDefer = false;
};

/// How far a session has come, as the answer says it.
struct SessionReach {
  /// One of its frames, which names it.
  const InboundFrame* frame = nullptr;
  std::uint64_t accepted = 0;
  /// The id of the frame that was accepted with that number; empty: not known.
  std::string acceptedId = {};

  /// Up to where all has ended, given the lowest number that waits.
  [[nodiscard]] std::uint64_t settled(std::optional<std::uint64_t> firstWaiting) const noexcept {
    return firstWaiting ? *firstWaiting - 1 : accepted;
  }
};

/// Decides what becomes of each frame of one request, in their order. After `begin` for a frame, `next` is asked until
/// it says what becomes of it, with what the steps before have found out; then `end` is called with the answer.
///
/// Nothing is asked of the store that an earlier check makes needless: first what is wrong with the frame itself, then
/// whether it came before, then its expiry, then limits, and last what takes it.
///
/// Lifetime: agent and frames outlive it. Thread-safety: none.
class RequestAdmission {
public:
  explicit RequestAdmission(const AdmissionRules& rules) : rules_(rules) {}

  void begin(const InboundFrame& frame);
  [[nodiscard]] Decision next(const Known& known) const;
  /// What became of the frame by `step`, and its answer's outcome.
  void end(const Known& known, Step step, Outcome outcome);
  /// The sessions that have come anywhere, in the order in which frames named them.
  [[nodiscard]] std::span<const SessionReach> reached() const noexcept { return reached_; }

private:
  /// A sender's store is named by that sender: both must agree for two frames to be of one session.
  struct SessionName {
    std::string_view session;
    std::string_view source;
    std::string_view origin;
    auto operator<=>(const SessionName&) const = default;  // NOLINT(modernize-use-nullptr): version 14 misreads it
  };
  /// What earlier frames of the request did to a session.
  struct Session {
    /// One was not taken.
    bool isStopped = false;
    /// One was accepted before.
    bool isRepeated = false;
    /// One was put into the inbox.
    bool hasWaiting = false;
    /// Its place in `reached_`.
    std::optional<std::size_t> place = {};
  };

  [[nodiscard]] Decision judgeMark(const Known& known) const;
  [[nodiscard]] Decision takeNew(const Known& known) const;
  void reach(std::uint64_t accepted, const std::string& acceptedId);

  AdmissionRules rules_;
  // The frame that was begun, and its session: looked up once, as `next` is asked several times for each frame.
  const InboundFrame* frame_ = nullptr;
  Session* session_ = nullptr;
  // Of a frame outside sessions; stays empty.
  Session none_;
  std::map<SessionName, Session> sessions_;
  std::vector<SessionReach> reached_;
};

/// For how long the application of a deferred frame has been away, for the answer: its sender cannot see for itself why
/// an outcome does not come. `awaySince`: nothing: the application is there, or not known.
[[nodiscard]] std::optional<std::chrono::milliseconds> unattendedFor(std::optional<WallTime> awaySince, WallTime now);

}  // namespace ackbox::reception
