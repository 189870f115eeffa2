#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace SQLite {
class Database;
}

namespace ackbox {

// Defined in ackbox/deferred_frame.hpp.
class DeferredFrame;

/// The answer of a handler.
struct HandlerResult {
  Outcome outcome = Outcome::ack;
  /// `limit-…` and `inbox-full` are reserved: a `nack` with such a code charges no attempt (`Outcome::nack`). The codes
  /// of the receiver's own refusals (`closed-origin`, `expired`, `held`, `id-conflict`, `out-of-sequence`,
  /// `stale-epoch`, `wrong-audience`) are replaced by `rejected` or `not-now`, and are put in front of `detail`.
  std::string code = {};
  std::string detail = {};
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// For the sender's `onAcked`: JSON, at most 256 KiB, 59 levels. Any other text is left out, and the log reports it.
  std::string result = {};

  /// Applied.
  [[nodiscard]] static HandlerResult ack(std::string resultJson = {}) {
    HandlerResult made;
    made.result = std::move(resultJson);
    return made;
  }
  /// Not now. The handler's writes are undone.
  [[nodiscard]] static HandlerResult notNow(std::string detail = {},
                                            std::optional<std::chrono::milliseconds> retryAfter = {}) {
    HandlerResult made;
    made.outcome = Outcome::nack;
    made.code = "not-now";
    made.detail = std::move(detail);
    made.retryAfter = retryAfter;
    return made;
  }
  /// Later: the frame is stored durably, the answer says so, and `DeferredOptions::handler` works on it without the
  /// store's lock. The handler's writes are undone. Without `InboundOptions::deferred.handler` nothing is stored: the
  /// answer is a `notNow`, and after its retries the sender gives the message up with reason `retry-budget`.
  [[nodiscard]] static HandlerResult defer() {
    HandlerResult made;
    made.outcome = Outcome::defer;
    return made;
  }
  /// Never. The handler's writes are undone; the message becomes a dead letter at the sender.
  [[nodiscard]] static HandlerResult reject(std::string detail, std::string code = "rejected") {
    HandlerResult made;
    made.outcome = Outcome::term;
    made.code = std::move(code);
    made.detail = std::move(detail);
    return made;
  }
};

/// The short transaction in which a handler works. Its writes, the mark by which a repetition of the frame is
/// recognised, and the replies enqueued here commit together, before the ACK is sent (P5 in ARCHITECTURE.md).
///
/// Lifetime: the handler's call. Thread-safety: the handler's thread only.
class InboundTransaction {
public:
  virtual ~InboundTransaction() = default;

  /// The store's connection, inside the transaction. Business tables may share the file. Do not begin, commit or roll
  /// back a transaction; savepoints are allowed, and what was enqueued in one is undone with it. One that is undone
  /// behind more than 64 enqueues of one call ends the transaction: the frame is then refused.
  [[nodiscard]] virtual SQLite::Database& database() = 0;

  /// Enqueues a reply, or anything else, in this transaction.
  /// Returns and throws as `OutboxWriter::enqueue`.
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;

  /// Publishes to all that have subscribed, in this transaction. Returns and throws as `OutboxWriter::publish`.
  virtual PublishReceipt publish(const Frame& frame) = 0;
};

/// Decides about one frame. Runs on the store's thread, or on an `InboundServer`'s own, with SQLite's write lock held:
/// it must be short (no network, no waiting). An exception counts as a `notNow`; the handler's writes are undone.
using FrameHandler = std::function<HandlerResult(const InboundFrame& frame, InboundTransaction& transaction)>;

/// Works on one deferred frame. To define one, include `ackbox/deferred_frame.hpp`: it declares `DeferredFrame`, which
/// the handler may keep and answer later, on any thread. Runs on `DeferredOptions::executor`: one frame of a session at
/// a time, in order, several sessions at once. An exception is a failed run.
using DeferredHandler = std::function<void(DeferredFrame frame)>;

}  // namespace ackbox
