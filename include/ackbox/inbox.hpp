#pragma once

// Types for reading and changing deferred frames, which wait in the receiver's file for `DeferredOptions::handler`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/diagnosis.hpp"

namespace ackbox {

/// The state of a deferred frame at the receiver.
enum class InboxState : std::uint8_t {
  /// It runs when its turn comes.
  waiting,
  /// It waits for an application that is not connected, or does not accept frames: see `Application`.
  unattended,
  /// An earlier frame of its session goes before it.
  behind,
  /// Its handler, or an application, is working on it.
  running,
  /// Its last run failed; it runs again from `InboxInfo::dueAt` on.
  backoff,
  /// Its handler has finished it, or it has failed or was discarded. Kept for `InboundOptions::processedRetention` if
  /// the outcome says more than an acknowledgement.
  ended,
};

/// The state's name, as printed: `"WAITING"`, `"UNATTENDED"`, …
[[nodiscard]] std::string_view toString(InboxState state) noexcept;

/// A deferred frame as recorded in the receiver's file.
struct InboxInfo {
  /// The sender's id for the frame, unique to its `source`.
  std::string messageId = {};
  /// The sender's agent URI.
  std::string source = {};
  /// The sender's store; empty outside any session.
  std::string origin = {};
  std::string session = {};
  /// 0: outside any session.
  std::uint64_t sequence = 0;
  /// See `InboundFrame::mailbox`.
  std::string mailbox = {};
  std::string type = {};
  InboxState state = InboxState::waiting;
  /// Charged runs.
  std::uint32_t retryCount = 0;
  /// Runs begun so far; those that ended with their process are not charged.
  std::uint32_t startCount = 0;
  WallTime acceptedAt{};
  /// When the last run began; 0 if none has begun.
  WallTime startedAt{};
  /// In `backoff`: the next run begins no earlier.
  WallTime dueAt{};
  /// In `ended`: when that was.
  WallTime endedAt{};
  /// In `ended`: until when the outcome is kept.
  WallTime keptUntil{};
  /// When the last failed run ended.
  std::optional<WallTime> failedAt = {};
  /// Why that run failed: its handler's exception, or the `detail` or `code` of its `HandlerResult`; at most 1,000
  /// bytes. In `ended`: the `detail` that the sender gets.
  std::string lastError = {};
  /// In `unattended`: what it waits for, as the words after "waits for".
  std::string waitsFor = {};
  /// In `ended`: the code of the refusal; empty: it was acknowledged.
  std::string reason = {};
  /// The size of its data.
  std::uint64_t bytes = 0;
  /// Its position in the order of acceptance; 0 in `ended`.
  std::int64_t row = 0;
};

/// A consumer that has held deferred frames for long and has ended none of them.
struct SilentConsumer {
  /// For use as a subject: "the stream of billing for types order.*".
  std::string name = {};
  /// The number of frames that it holds.
  std::uint64_t frames = 0;
  /// When it last ended a frame, or got its first one.
  WallTime since{};
};

/// An application that a deferred handler gives frames to, as known to the handler's process.
struct Application {
  /// The types of its frames: a type, or a prefix followed by `*`.
  std::string types = {};
  /// Since when it is away and its frames wait; empty while it is there.
  std::optional<WallTime> awaySince = {};
  /// What its frames wait for, as the words after "waits for".
  std::string cause = {};
  /// Its consumer that has been silent for the longest time; empty if its frames end.
  std::optional<SilentConsumer> silent = {};
  /// The agent that fetches the frames from its mailbox; `*`: each agent with a mailbox that is not named. Empty: they
  /// are frames for this agent.
  std::string mailbox = {};
};

/// The deferred frames for this agent that wait for an application. Frames in mailboxes do not count: their agents may
/// be away for as long as they like.
struct UnattendedFrames {
  /// Waiting frames, and those behind them in their sessions.
  std::uint64_t frames = 0;
  /// There may be more: only a bounded number of frames was read.
  bool isCut = false;
  /// When the oldest of them was accepted; empty if no frame waits.
  std::optional<WallTime> oldestAt = {};
  /// Since when the application that has been away for the longest time is away; empty if no frame waits.
  std::optional<WallTime> since = {};
  /// The type of the oldest, and what it waits for.
  std::string type = {};
  std::string cause = {};
};

/// Selects deferred frames; a field that is not set does not restrict.
struct InboxFilter {
  /// Not set: every frame that has not ended. `ended`: the frames that were refused for good, as long as the refusal is
  /// kept (`InboundOptions::processedRetention`), the last first. A change by a filter changes none of these.
  std::optional<InboxState> state = {};
  std::optional<std::string> source = {};
  /// Without `mailbox`: a session for this agent.
  std::optional<std::string> session = {};
  /// See `InboundFrame::mailbox`.
  std::optional<std::string> mailbox = {};
  /// The id or the type is this, or the session, the mailbox, the sender or the last error contains it; case-sensitive.
  std::optional<std::string> text = {};
};

/// A page of deferred frames, in the order of their acceptance.
struct InboxPage {
  std::vector<InboxInfo> frames = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another, because each page reads a bounded number of rows.
  std::int64_t next = 0;
};

/// Why a deferred frame is in its state, at one committed instant.
struct InboxExplanation {
  InboxInfo frame = {};
  /// The reason nearest to the frame comes first. Empty: nothing blocks the frame, and it runs next.
  std::vector<Reason> reasons = {};
  /// The same for people.
  std::string sentence = {};
};

/// The result of an operator's change to a deferred frame.
struct InboxReceipt {
  /// Empty: the change was made. `Errc::unknownMessage`: no frame of this sender has this id here.
  /// `Errc::invalidTransition`: the frame is in `state`, which does not allow this change. Refusals change nothing.
  std::error_code refusal = {};
  /// The frame's state when the change was requested; meaningless for `unknownMessage`.
  InboxState state = InboxState::waiting;
  /// Its number in its session; 0: outside any, or `unknownMessage`.
  std::uint64_t sequence = 0;

  [[nodiscard]] bool done() const noexcept { return !refusal; }
};

}  // namespace ackbox
