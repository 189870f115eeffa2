#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "serve/api/audit.hpp"
#include "serve/api/bulk_changes.hpp"
#include "serve/api/message_waits.hpp"
#include "serve/api/workers.hpp"
#include "serve/traces/span_counts.hpp"

namespace ackbox::serve {

/// What the operations work with: an open outbox, threads that may wait for its file, and what outlives a request.
///
/// Thread-safety: all members may be called from any thread.
class Service {
public:
  /// `executor` runs one thing at a time: the connections', on which operations begin.
  Service(const boost::asio::any_io_executor& executor, OutboxManager manager, const OutboxOptions& options,
          std::shared_ptr<const SpanCounts> spanCounts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Ends what waits, and then the delivery (`OutboxManager::stop`). Idempotent.
  void drain();
  /// From the beginning of `drain` on.
  [[nodiscard]] bool isDraining() const noexcept { return draining_; }

  [[nodiscard]] OutboxManager& manager() noexcept { return manager_; }
  [[nodiscard]] OutboxOperator& changes() noexcept { return changes_; }
  [[nodiscard]] const OutboxReader& reader() const noexcept { return reader_; }
  [[nodiscard]] Workers& workers() noexcept { return workers_; }
  [[nodiscard]] MessageWaits& waits() noexcept { return *waits_; }
  [[nodiscard]] BulkChanges& bulkChanges() noexcept { return *bulkChanges_; }
  [[nodiscard]] const SpanCounts& spanCounts() const noexcept { return *spanCounts_; }
  [[nodiscard]] const Audit& audit() const noexcept { return audit_; }

private:
  std::atomic<bool> draining_ = false;
  const std::shared_ptr<const SpanCounts> spanCounts_;
  const Audit audit_;
  // Before the manager, whose end calls what still waits for a commit.
  Workers workers_;
  const std::shared_ptr<MessageWaits> waits_;
  const std::shared_ptr<BulkChanges> bulkChanges_;
  OutboxManager manager_;
  OutboxOperator changes_;
  OutboxReader reader_;
};

}  // namespace ackbox::serve
