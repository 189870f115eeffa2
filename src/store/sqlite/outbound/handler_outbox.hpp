#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite/step_savepoint.hpp"
#include "store/sqlite/sqlite_names.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

struct Components;

/// The outbox for a handler, which may undo savepoints of its own on the store's connection: what it has enqueued in
/// one is undone with it, in the store's memory too. SQLite reports no such savepoint, so the last row of each enqueue
/// is looked for: at the next one, and at the end. What a failing enqueue wrote is undone. A savepoint that is undone
/// behind 64 enqueues of one call ends the transaction, because a scope takes memory.
///
/// All in a transaction, between `Transaction::guard` on and off. Thread-safety: none.
class HandlerOutbox final : public store::Outbox {
public:
  explicit HandlerOutbox(Components& parts);

  EnqueueReceipt enqueue(const Frame& frame) override;
  PublishReceipt publish(const Frame& frame) override;
  [[nodiscard]] std::size_t stored() const noexcept override;
  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded() override;

  /// The handler has ended; the transaction goes on. Throws `Error` with `handlerEndedTransaction`: it does not.
  void end();
  /// The transaction has ended, and with it all scopes.
  void forget() noexcept { kept_.clear(); }

private:
  template <typename Work>
  [[nodiscard]] auto inScope(const Work& work);
  /// Undoes in memory what the handler has undone in the file.
  void followUndo();
  [[nodiscard]] bool isThere(std::int64_t first, std::int64_t last);

  Components& parts_;
  StepSavepoint step_;
  Statement isThere_;
  /// An enqueue that was stored, or several, with an open scope of the parts.
  struct Kept {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  // In order; the last one stands for all beyond the limit.
  std::vector<Kept> kept_;
};

}  // namespace ackbox::store::sqlite
