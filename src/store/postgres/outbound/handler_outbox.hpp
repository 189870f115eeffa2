#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/postgres/context.hpp"
#include "store/postgres/handler_scopes.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/outbound/new_rows.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The outbox for a handler, which may undo savepoints of its own on the store's connection: what it has enqueued in
/// one is undone with it, in the store's memory too. Each enqueue is written at once, inside the savepoints that are
/// open. PostgreSQL reports no savepoint that is undone, so the last row of each enqueue is looked for: at the next
/// one, and at the end.
///
/// Between `Store::guardTransaction` on and off. Thread-safety: none.
class HandlerOutbox final : public store::Outbox {
public:
  /// `memories`: those that an enqueue changes, in the order of a commit.
  HandlerOutbox(Context& context, const HandlerScopes& scopes, NewRows& rows, store::Outbox& outbox,
                std::span<Memory* const> memories)
      : context_(context), scopes_(scopes), rows_(rows), outbox_(outbox), memories_(memories) {}

  EnqueueReceipt enqueue(const Frame& frame) override;
  PublishReceipt publish(const Frame& frame) override;
  [[nodiscard]] std::size_t stored() const noexcept override { return outbox_.stored(); }
  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded() override { return outbox_.takeSuperseded(); }

  /// The handler has ended, and its scope was kept, or undone.
  void kept();
  void undone() noexcept;
  /// The transaction has ended, and with it all scopes.
  void forget() noexcept { kept_.clear(); }

private:
  template <typename Work>
  [[nodiscard]] auto inScope(const Work& work);
  /// Undoes in memory what the handler has undone in the database.
  void followUndo();
  void closeScopes() noexcept;

  Context& context_;
  const HandlerScopes& scopes_;
  NewRows& rows_;
  store::Outbox& outbox_;
  const std::span<Memory* const> memories_;
  // The last message of each enqueue that was stored, each with an open scope of the memories.
  std::vector<std::string> kept_;
};

}  // namespace ackbox::store::postgres
