#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/discovery.hpp"
#include "store/sqlite/outbound/enqueue_steps.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/peers/subscriptions.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Enqueues on the store's own connection: keeps the sessions' tails in memory, and hands the rows of a commit over to
/// discovery.
///
/// All in a transaction but `takeSuperseded`. Thread-safety: none.
class Outbox final : public store::Outbox, public WriteBack, private EnqueueSteps {
public:
  Outbox(Context& context, const Peers& peers, Subscriptions& subscriptions, OutboxRows& rows, Discovery& discovery);

  EnqueueReceipt enqueue(const Frame& frame) override;
  PublishReceipt publish(const Frame& frame) override;
  [[nodiscard]] std::size_t stored() const noexcept override { return stored_.size(); }

  /// A dead letter, or an acknowledged message that is repeated, and its place.
  struct Redrive {
    MessageState from = MessageState::failed;
    delivery::MessageKey key = 0;
    delivery::SessionKey session = 0;
    delivery::PeerKey peer = 0;
    std::string_view sessionName;
    /// 0 if it is unordered.
    std::uint64_t sequence = 0;
    /// The id of an acknowledged message, which the receiver sees; empty for a dead letter.
    std::string_view repeatedId = {};
  };
  /// Puts the message at its session's tail, as a new row with a new sequence. Returns the sequence.
  std::uint64_t redrive(const Redrive& message);

  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded() override;

  /// Forgets the sessions when they have become too many.
  void flush() override;
  void committed() noexcept override;
  void rolledBack() noexcept override;
  void scopeBegun() override { scopes_.push_back({stored_.size(), superseded_.size()}); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;
  /// Forgets the sessions, but not the rows that this transaction has stored.
  void forget() noexcept override;

private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>()(name); }
  };
  using Sessions = std::unordered_map<std::string, SessionTail, NameHash, std::equal_to<>>;

  /// The sizes of the two lists at some instant.
  struct Mark {
    std::size_t stored = 0;
    std::size_t superseded = 0;
  };

  void beforeLook() override { context_.gathered.flush(); }
  void beforeChange(const Frame& frame) override;
  [[nodiscard]] bool isNoneLive() override;
  [[nodiscard]] SessionTail& tailOf(const SessionName& session, std::uint8_t priority) override;
  void insert(NewRow&& row, const Frame& frame) override;
  void priorityChanged(const SessionTail& place) override;
  void superseded(const Supersedable& message, const Frame& frame, const EnqueueReceipt& receipt) override;
  [[nodiscard]] SessionTail beginSession(const SessionName& session, std::uint8_t priority);
  void shrinkTo(const Mark& mark) noexcept;

  Context& context_;
  const Peers& peers_;
  Subscriptions& subscriptions_;
  OutboxRows& rows_;
  Discovery& discovery_;
  Statement redrive_;
  Statement bytesOf_;
  std::unordered_map<delivery::PeerKey, Sessions> sessions_;
  std::size_t cached_ = 0;
  // The rows of this transaction, in key order.
  std::vector<delivery::RowSeen> stored_;
  // Begins with messages of committed transactions that have not been taken yet.
  std::vector<SupersededMessage> superseded_;
  std::size_t supersededBefore_ = 0;
  std::vector<Mark> scopes_;
};

}  // namespace ackbox::store::sqlite
