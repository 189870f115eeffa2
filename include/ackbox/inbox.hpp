#pragma once

// What reads and changes of deferred frames take and give: those that wait in the receiver's file for
// `DeferredOptions::handler`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/diagnosis.hpp"

namespace ackbox {

/// Where a deferred frame stands at the receiver.
enum class InboxState : std::uint8_t {
  /// It runs when its turn comes.
  waiting,
  /// It waits for an application that is not connected, or does not take frames: see `Application`.
  unattended,
  /// An earlier frame of its session goes before it.
  behind,
  /// Its handler, or an application, has it in hand.
  running,
  /// Its last run failed; it runs again from `InboxInfo::dueAt` on.
  backoff,
  /// Its handler is done with it, or it was given up or discarded. Kept for `InboundOptions::processedRetention` where
  /// the outcome says more than an acknowledgement.
  ended,
};

/// The state's name, as printed: `"WAITING"`, `"UNATTENDED"`, …
[[nodiscard]] std::string_view toString(InboxState state) noexcept;

/// A deferred frame as it stands in the receiver's file.
struct InboxInfo {
  /// The sender's id of it, unique to its `source`.
  std::string messageId = {};
  /// The sender's agent URI.
  std::string source = {};
  /// The sender's store; empty outside any session.
  std::string origin = {};
  std::string session = {};
  /// 0: outside any session.
  std::uint64_t sequence = 0;
  std::string type = {};
  InboxState state = InboxState::waiting;
  /// Charged runs.
  std::uint32_t retryCount = 0;
  /// Runs begun so far; those that ended with their process are not charged.
  std::uint32_t startCount = 0;
  WallTime acceptedAt{};
  /// When the last run began; 0: none did.
  WallTime startedAt{};
  /// In `backoff`: not run before.
  WallTime dueAt{};
  /// In `ended`.
  WallTime keptUntil{};
  /// When the last failed run ended.
  std::optional<WallTime> failedAt = {};
  /// Why that run failed: what its handler threw, or the `detail` or `code` of its `HandlerResult`; at most 1,000
  /// bytes. In `ended`: the `detail` that the sender gets.
  std::string lastError = {};
  /// In `unattended`: what it waits for, to be read behind "waits for".
  std::string waitsFor = {};
  /// In `ended`: the code of the refusal; empty: it was acknowledged.
  std::string reason = {};
  /// Of its data.
  std::uint64_t bytes = 0;
  /// Its place in the order of acceptance; 0 in `ended`.
  std::int64_t row = 0;
};

/// Who has deferred frames in hand for long and has ended none of them.
struct SilentConsumer {
  /// To be read as a subject: "the stream of billing for types order.*".
  std::string name = {};
  /// How many it has.
  std::uint64_t frames = 0;
  /// When it last ended one, or got its first.
  WallTime since{};
};

/// An application that a deferred handler gives frames to, as its process knows it.
struct Application {
  /// Of the frames that are for it: a type, or the beginning of types with `*` behind it.
  std::string types = {};
  /// Since when it is not there, so that its frames wait; nothing: it is there.
  std::optional<WallTime> awaySince = {};
  /// What its frames wait for, to be read behind "waits for".
  std::string cause = {};
  /// Of it, what has been silent for the longest time; nothing: its frames end.
  std::optional<SilentConsumer> silent = {};
};

/// The deferred frames that wait for an application.
struct UnattendedFrames {
  /// Those that wait, and those behind them in their sessions.
  std::uint64_t frames = 0;
  /// There may be more: only so many frames were looked at.
  bool isCut = false;
  /// When the oldest of them was accepted; nothing if no frame waits.
  std::optional<WallTime> oldestAt = {};
  /// Since when the application that has been away for the longest time is away; nothing if no frame waits.
  std::optional<WallTime> since = {};
  /// The type of the oldest, and what it waits for.
  std::string type = {};
  std::string cause = {};
};

/// Chooses deferred frames that have not ended; what is not set does not restrict.
struct InboxFilter {
  /// `ended` chooses none.
  std::optional<InboxState> state = {};
  std::optional<std::string> source = {};
  std::optional<std::string> session = {};
};

/// Some deferred frames, in the order of their acceptance.
struct InboxPage {
  std::vector<InboxInfo> frames = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another: each looks at a bounded number of rows.
  std::int64_t next = 0;
};

/// Why a deferred frame stands where it stands, at one committed instant.
struct InboxExplanation {
  InboxInfo frame = {};
  /// What is nearest to the frame first. Empty: nothing hinders it, and it runs next.
  std::vector<Reason> reasons = {};
  /// The same for people.
  std::string sentence = {};
};

/// What became of a change to a deferred frame that an operator asked for.
struct InboxReceipt {
  /// Empty: it is done. `Errc::unknownMessage`: no frame of this sender has this id here. `Errc::invalidTransition`:
  /// the frame is in `state`, which does not allow this change. Refusals change nothing.
  std::error_code refusal = {};
  /// Where the frame stood when it was asked; meaningless for `unknownMessage`.
  InboxState state = InboxState::waiting;
  /// Its number in its session; 0: outside any, or `unknownMessage`.
  std::uint64_t sequence = 0;

  [[nodiscard]] bool done() const noexcept { return !refusal; }
};

}  // namespace ackbox
