#pragma once

#include <memory>

#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"

namespace SQLite {
class Database;
}

namespace ackbox {

class OutboxManager;

/// Enqueues on the caller's own SQLite connection, inside the caller's own transaction: the frames commit or roll back
/// with the business data (P2 in ARCHITECTURE.md). The manager's file and the connection's file must be the same, and
/// the connection not the manager's own: a handler enqueues through `InboundTransaction::enqueue`.
///
/// Inside the transaction call only the writer. The manager's `enqueue` would wait for the write lock that the
/// transaction holds, and fail with `databaseBusy` after `OutboxOptions::busyTimeout`. Begin the transaction with BEGIN
/// IMMEDIATE: it takes the write lock at the beginning, and waits for it. A transaction that reads first and writes
/// later fails without waiting if another connection has committed in between.
///
/// While the writer exists, the connection's automatic checkpoints are off (the store checkpoints), its commits wake
/// the manager, and its transactions stay in memory until they commit (`PRAGMA cache_spill=OFF`): SQLite 3.40 can lose
/// a commit if a savepoint was undone in it after a spill, and a refused enqueue undoes one.
///
/// Thread-safety: that of the connection; one thread at a time.
/// Lifetime: must be destroyed before the connection; may outlive the manager: enqueues then still work and are found
/// by the next manager that opens the file.
class OutboxWriter {
public:
  /// Binds to `connection`, and raises its `synchronous` to FULL when the manager promises power-cut durability.
  ///
  /// Throws `Error`: `notDurable` (below FULL inside a transaction, where SQLite does not let it be changed),
  /// `schemaMissing` (another file, or another prefix), `databaseError`.
  OutboxWriter(OutboxManager& manager, SQLite::Database& connection);
  OutboxWriter(const OutboxWriter&) = delete;
  OutboxWriter& operator=(const OutboxWriter&) = delete;
  ~OutboxWriter();

  /// Adds `frame` to the caller's open transaction. Durable when that commits.
  ///
  /// Returns the receipt; a refusal leaves the transaction as it was. Throws `Error`: `noTransaction`, and those of
  /// `OutboxManager::enqueue`; after a throw nothing of this frame is in the transaction.
  EnqueueReceipt enqueue(const Frame& frame);

  /// The same for each subscriber of the frame, see `OutboxManager::publish`. A peer that subscribes after it gets what
  /// is published after the transaction.
  PublishReceipt publish(const Frame& frame);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox
