#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// Limits beyond which an outbox is not well. 0 (default) turns a check off, because the right limit depends on the
/// agent. Checked after the commits of a run and at each of its polls, in O(1); never by a manager that does not
/// deliver.
struct HealthThresholds {
  /// Dead letters. 1: the first raises an event.
  std::uint64_t failed = 0;
  /// Undelivered messages, as `OutboxOptions::maxPending` counts them.
  std::uint64_t pending = 0;
  /// How long the oldest undelivered message may wait.
  std::chrono::milliseconds oldestAge{0};
  /// How long a peer may be unreachable from this process.
  std::chrono::milliseconds peerDownFor{0};
};

/// What a health event is about.
enum class HealthCheck : std::uint8_t {
  failed,
  pending,
  oldestAge,
  peerDown,
  /// This process lacks something, such as memory or descriptors, its file was replaced while it was open
  /// (`Errc::databaseReplaced`), its file cannot be written, stored data cannot be read, or an exception was thrown in
  /// it. Not a peer's fault, and charged to no message. Has no threshold, and is always reported. The operation that
  /// threw has ended by then.
  process,
};

/// The check's name, as printed: `"failed"`, `"oldestAge"`, …
[[nodiscard]] std::string_view toString(HealthCheck check) noexcept;

/// A threshold was crossed.
///
/// A count or an age is well again only below four fifths of its threshold, so that a value that varies around the
/// threshold does not raise one event after another; a peer is well again once it answers.
struct HealthEvent {
  HealthCheck check = HealthCheck::failed;
  /// True: it is not well now. False: it is well again.
  bool raised = false;
  /// For `peerDown`: the peer. Otherwise empty.
  std::string peer = {};
  /// Messages for `failed` and `pending`, milliseconds for `oldestAge` and `peerDown`, 1 or 0 for `process`.
  std::uint64_t value = 0;
  std::uint64_t threshold = 0;
  WallTime at{};
  /// The same for people.
  std::string sentence = {};
};

}  // namespace ackbox
