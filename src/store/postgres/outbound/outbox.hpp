#pragma once

#include <string_view>
#include <vector>

#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/outbound/enqueue_steps.hpp"
#include "store/postgres/outbound/new_rows.hpp"
#include "store/postgres/peers/peers.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Enqueues on the store's own connection.
class Outbox final : public store::Outbox, public Memory {
public:
  Outbox(Context& context, const Peers& peers, NewRows& rows)
      : context_(context), peers_(peers), rows_(rows), steps_(context, rows), vacated_(context) {}

  EnqueueReceipt enqueue(const Frame& frame) override;
  PublishReceipt publish(const Frame& frame) override;
  void expect(std::span<const Frame* const> frames) override;
  [[nodiscard]] std::size_t stored() const noexcept override { return steps_.stored; }
  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded() override;
  /// The id of the last message that this transaction has stored; empty: none.
  [[nodiscard]] const std::string& lastStored() const noexcept { return steps_.lastStored; }

  /// A dead letter, or an acknowledged message that is repeated, and its place.
  struct Redrive {
    MessageState from = MessageState::failed;
    delivery::MessageKey key = 0;
    delivery::PeerKey peer = 0;
    std::string_view sessionName;
    int lane = 0;
    std::uint64_t sequence = 0;
  };
  /// Puts the message at its session's tail, as a new row with a new sequence. Returns the sequence.
  std::uint64_t redrive(const Redrive& message);

  void committed() noexcept override;
  void rolledBack() noexcept override;
  void scopeBegun() override { scopes_.push_back({steps_.stored, steps_.superseded.size()}); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;

private:
  /// What was stored and superseded at some instant.
  struct Mark {
    std::size_t stored = 0;
    std::size_t superseded = 0;
  };

  Context& context_;
  const Peers& peers_;
  NewRows& rows_;
  EnqueueSteps steps_;
  VacatedNumbers vacated_;
  std::vector<Mark> scopes_;
  // Of committed transactions.
  std::vector<SupersededMessage> superseded_;
};

}  // namespace ackbox::store::postgres
