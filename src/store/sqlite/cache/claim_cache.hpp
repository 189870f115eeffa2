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

/// A row of the outbox as its claim needs it. The frame has neither its session's name nor its predecessor.
struct OutboxRow {
  MessageState state = MessageState::pending;
  delivery::SessionKey session = 0;
  /// Claims that are over.
  std::uint32_t attempt = 0;
  WallTime dueAt{};
  std::optional<WallTime> notBefore = {};
  /// It is not what was written: never sent.
  bool isDamaged = false;
  OutboundFrame frame;
};

/// A session's row as its claim and discovery need it; what moves is in `SessionStates`.
struct SessionRow {
  std::string name;
  delivery::PeerKey peer = 0;
  bool isUnordered = false;
  /// Paused, or blocked by a dead letter.
  bool isHalted = false;
  std::uint8_t priority = 0;
  /// The recalls at which its rows were put back.
  std::int64_t recall = 0;
  /// It is not what its index says: which session it is, and to which peer, is not known.
  bool isDamaged = false;
};

/// What a claim need not read: pending rows that were enqueued here and not claimed since, or that an earlier claim
/// read and had no room for, and the rows of sessions that began or were claimed here.
///
/// Anything may be missing. Code that changes such a row otherwise than through the reference takes it out of here.
/// Thread-safety: none.
class ClaimCache final : public WriteBack {
public:
  /// Whether `add` would keep anything: beyond `kRowBytesMax` the oldest stay, as they are claimed first.
  [[nodiscard]] bool hasRoom() const noexcept { return rowBytes_ < kRowBytesMax; }
  void add(delivery::MessageKey key, OutboxRow&& row);
  /// What is taken is gone from here.
  [[nodiscard]] std::optional<OutboxRow> take(delivery::MessageKey key);

  /// Valid until sessions are kept or forgotten; null: not known.
  [[nodiscard]] SessionRow* session(delivery::SessionKey key);
  /// Valid as above.
  SessionRow& keep(delivery::SessionKey key, SessionRow&& row);
  void forget(delivery::SessionKey key) { sessions_.erase(key); }
  void forgetSessions() noexcept { sessions_.clear(); }

  void forget() noexcept override;

private:
  // More than what is under way at once; what exceeds it is a backlog, and larger caches gained nothing.
  static constexpr std::size_t kRowBytesMax = 2 * 1024 * 1024;
  static constexpr std::size_t kSessionsMax = 20'000;

  std::unordered_map<delivery::MessageKey, OutboxRow> rows_;
  std::size_t rowBytes_ = 0;
  std::unordered_map<delivery::SessionKey, SessionRow> sessions_;
};

}  // namespace ackbox::store::sqlite
