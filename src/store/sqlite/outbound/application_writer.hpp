#pragma once

#include <sqlite3.h>

#include <functional>
#include <memory>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"

namespace ackbox::store::sqlite {

/// Enqueues on an application's connection and in its transaction: no caches, counters updated row by row.
///
/// Thread-safety: that of the connection. Lifetime: ends before the connection.
class ApplicationWriter {
public:
  /// Turns the connection's automatic checkpoints off; `committed` is called after each of its commits, inside the
  /// commit, and must only set a flag or post. Throws `Error`: `notDurable`, `schemaMissing`, `databaseError`.
  ApplicationWriter(sqlite3* connection, const OutboxOptions& options, std::function<void()> committed);
  ~ApplicationWriter();

  /// As `OutboxWriter::enqueue`.
  EnqueueReceipt enqueue(const Frame& frame);
  /// As `OutboxWriter::publish`.
  PublishReceipt publish(const Frame& frame);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::sqlite
