#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ackbox/sender.hpp"
#include "delivery/types.hpp"
#include "store/sqlite/cache/write_back.hpp"

namespace ackbox::store::sqlite {

/// The part of an outbox row that a claim needs. The frame lacks its session's name and its predecessor.
struct OutboxRow {
  MessageState state = MessageState::pending;
  delivery::SessionKey session = 0;
  /// The number of claims that have ended.
  std::uint32_t attempt = 0;
  WallTime dueAt{};
  std::optional<WallTime> notBefore = {};
  /// The row is not what was written: it is never sent.
  bool isDamaged = false;
  OutboundFrame frame;
};

/// The part of a session's row that a claim and discovery need; its changing part is in `SessionStates`.
struct SessionRow {
  std::string name;
  delivery::PeerKey peer = 0;
  bool isUnordered = false;
  /// Paused, or blocked by a dead letter.
  bool isHalted = false;
  std::uint8_t priority = 0;
  /// The number of the last recall that put back its rows.
  std::int64_t recall = 0;
  /// The row differs from its index: its session and its peer are not known.
  bool isDamaged = false;
};

/// Rows that a claim need not read: pending rows that were enqueued here and not claimed since, or that an earlier
/// claim read and had no room for, and the rows of sessions that began or were claimed here.
///
/// Any row may be missing. Code that changes such a row other than through the reference removes it from here.
/// Thread-safety: none.
class ClaimCache final : public WriteBack {
public:
  /// Whether `add` would keep anything: beyond `kRowBytesMax` the oldest stay, as they are claimed first.
  [[nodiscard]] bool hasRoom() const noexcept { return rowBytes_ < kRowBytesMax; }
  void add(delivery::MessageKey key, OutboxRow&& row);
  /// Removes the row from the cache and returns it.
  [[nodiscard]] std::optional<OutboxRow> take(delivery::MessageKey key);

  /// Valid until sessions are kept or forgotten; null if not known.
  [[nodiscard]] SessionRow* session(delivery::SessionKey key);
  /// The reference is valid as long as `session`'s.
  SessionRow& keep(delivery::SessionKey key, SessionRow&& row);
  void forget(delivery::SessionKey key) { sessions_.erase(key); }
  void forgetSessions() noexcept { sessions_.clear(); }

  void forget() noexcept override;

private:
  // More than is in flight at once; more rows would be a backlog, and larger caches gained nothing.
  static constexpr std::size_t kRowBytesMax = 2 * 1024 * 1024;
  static constexpr std::size_t kSessionsMax = 20'000;

  std::unordered_map<delivery::MessageKey, OutboxRow> rows_;
  std::size_t rowBytes_ = 0;
  std::unordered_map<delivery::SessionKey, SessionRow> sessions_;
};

}  // namespace ackbox::store::sqlite
