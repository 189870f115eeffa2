#pragma once

#include <vector>

#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"

namespace ackbox::store::sqlite {

/// Enqueued rows that are not in the file yet, as several rows of one statement cost less than a statement for each.
/// `flush` writes them: before anything else that looks at the outbox's rows. An error is of any of the enqueues
/// before.
///
/// All in a transaction. Thread-safety: none.
class GatheredRows final : public WriteBack {
public:
  GatheredRows(OutboxRows& rows, ClaimCache& cache) : rows_(rows), cache_(cache) {}

  void add(NewRow&& row);
  void flush() override;
  /// Written now, so that what is forgotten when the scope is undone is only the scope's.
  void scopeBegun() override { flush(); }
  void forget() noexcept override { gathered_.clear(); }
  [[nodiscard]] bool isPending() const noexcept override { return !gathered_.empty(); }

private:
  OutboxRows& rows_;
  ClaimCache& cache_;
  std::vector<NewRow> gathered_;
};

}  // namespace ackbox::store::sqlite
