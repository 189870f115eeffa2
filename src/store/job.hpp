#pragma once

#include <string>
#include <system_error>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"

namespace ackbox::store {

class Store;

/// A unit of work inside a group-committed transaction.
///
/// Lifetime: owned by its submitter; it must live until `done` is called; `done` may destroy it.
class Job {
public:
  virtual ~Job() = default;

  /// Runs in the open transaction, in the thread that commits. Throws (`Error`, `SQLite::Exception`) on an
  /// environmental failure: the whole group is then rolled back, and each job is run again in its own transaction, so
  /// that it fails alone. One that a lock keeps out is run again later, for `Store::lockWaitMost`, behind no other job
  /// but those that enqueue to its sessions. After a full disk, a transaction is tried again once the log has made
  /// room; one that the store says may be repeated is run again several times. So `run` may be called more than once,
  /// and must start from scratch each time. After `handlerEndedTransaction` it is run again until it fails otherwise or
  /// commits: it must then leave out the part that caused this.
  virtual void run(Store& store) = 0;

  /// Adds the messages that `run` is about to enqueue, as far as they are known; one to all subscribers is for the peer
  /// `kAllSubscribers`. See `Outbox::expect`.
  virtual void announce(std::vector<const Frame*>& /*frames*/) const {}

  /// Called once: after the commit (`error` is empty), or when the job can never commit. Must not throw or block.
  virtual void done(const std::error_code& error) noexcept = 0;

  /// In `done` with an error: what the store said when the job's last transaction failed, for people; may be empty.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  /// Whether its commit must be fsynced before `done` (P1), and whether it may run while the disk is read as full.
  bool durable = false;

  /// Whether a thread waits for the job; such a thread is likely to submit another one after it.
  bool awaited = false;

private:
  friend class Writer;
  friend class KeptOut;
  Job* next_ = nullptr;
  // Until when it is run again because of a lock.
  SteadyTime keptUntil_;
  std::string why_;
};

}  // namespace ackbox::store
