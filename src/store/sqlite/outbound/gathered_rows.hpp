#pragma once

#include <vector>

#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"

namespace ackbox::store::sqlite {

/// Enqueued rows that are not in the file yet, because one statement for several rows costs less than one for each.
/// `flush` must be called before any code looks at the outbox's rows; its error may come from any earlier enqueue.
///
/// All in a transaction. Thread-safety: none.
class GatheredRows final : public WriteBack {
public:
  GatheredRows(OutboxRows& rows, ClaimCache& cache) : rows_(rows), cache_(cache) {}

  void add(NewRow&& row);
  void flush() override;
  /// Writes now, so that undoing the scope drops only the scope's rows.
  void scopeBegun() override { flush(); }
  void forget() noexcept override { gathered_.clear(); }
  [[nodiscard]] bool isPending() const noexcept override { return !gathered_.empty(); }

private:
  OutboxRows& rows_;
  ClaimCache& cache_;
  std::vector<NewRow> gathered_;
};

}  // namespace ackbox::store::sqlite
