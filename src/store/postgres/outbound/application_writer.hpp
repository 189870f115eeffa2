#pragma once

#include <libpq-fe.h>

#include <memory>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"

namespace ackbox::store::postgres {

/// Enqueues in an application's own transaction, which is READ COMMITTED. Keeps nothing between two calls, because the
/// transaction may be rolled back at any time. A call that throws leaves the transaction failed, as any statement does.
///
/// Lifetime: the connection must outlive it. Thread-safety: that of the connection.
class ApplicationWriter {
public:
  /// Throws `schemaMissing`, `schemaTooNew`, `schemaTooOld`, `schemaOutdated`, and `notDurable` where
  /// `synchronous_commit` is off inside a transaction.
  ApplicationWriter(PGconn* connection, const OutboxOptions& options);
  ~ApplicationWriter();

  EnqueueReceipt enqueue(const Frame& frame);
  PublishReceipt publish(const Frame& frame);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::postgres
