#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace SQLite {
class Database;
}

namespace ackbox {

// Defined in ackbox/deferred_frame.hpp.
class DeferredFrame;

/// What a handler answers.
struct HandlerResult {
  Outcome outcome = Outcome::ack;
  /// `limit-…` and `inbox-full` are reserved: a `nack` with such a code charges no attempt (`Outcome::nack`). The codes
  /// by which the receiver itself refuses (`closed-origin`, `expired`, `held`, `id-conflict`, `out-of-sequence`,
  /// `stale-epoch`, `wrong-audience`) become `rejected` or `not-now`, with the code in front of `detail`.
  std::string code = {};
  std::string detail = {};
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// For the sender's `onAcked`: JSON, at most 256 KiB, 59 levels. What is not is left out, and the log reports it.
  std::string result = {};

  /// Taken into effect.
  [[nodiscard]] static HandlerResult ack(std::string resultJson = {}) {
    HandlerResult made;
    made.result = std::move(resultJson);
    return made;
  }
  /// Not now. Whatever the handler wrote is undone.
  [[nodiscard]] static HandlerResult notNow(std::string detail = {},
                                            std::optional<std::chrono::milliseconds> retryAfter = {}) {
    HandlerResult made;
    made.outcome = Outcome::nack;
    made.code = "not-now";
    made.detail = std::move(detail);
    made.retryAfter = retryAfter;
    return made;
  }
  /// Later: the frame is kept durably, the answer says so, and `DeferredOptions::handler` works on it off the store's
  /// lock. Whatever the handler wrote is undone. Without `InboundOptions::deferred.handler` nothing is kept: the answer
  /// is a `notNow`, and after its retries the sender gives the message up with reason `retry-budget`.
  [[nodiscard]] static HandlerResult defer() {
    HandlerResult made;
    made.outcome = Outcome::defer;
    return made;
  }
  /// Never. Whatever the handler wrote is undone; the sender dead-letters the frame.
  [[nodiscard]] static HandlerResult reject(std::string detail, std::string code = "rejected") {
    HandlerResult made;
    made.outcome = Outcome::term;
    made.code = std::move(code);
    made.detail = std::move(detail);
    return made;
  }
};

/// The short transaction that a handler works in. Its writes, the mark that makes the frame a duplicate from now on,
/// and the replies enqueued here commit together, before the ACK is sent (P5 in ARCHITECTURE.md).
///
/// Lifetime: the handler's call. Thread-safety: the handler's thread only.
class InboundTransaction {
public:
  virtual ~InboundTransaction() = default;

  /// The store's connection, inside the transaction. Business tables may share the file. Do not begin, commit or roll
  /// back; savepoints of your own are fine.
  [[nodiscard]] virtual SQLite::Database& database() = 0;

  /// Enqueues a reply, or anything else, in this transaction.
  /// Returns and throws as `OutboxWriter::enqueue`.
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;
};

/// Decides over one frame. Runs on the store's thread, or on an `InboundServer`'s own, with SQLite's write lock held:
/// it must be short (no network, no waiting). An exception is a `notNow`; what it wrote is undone.
using FrameHandler = std::function<HandlerResult(const InboundFrame& frame, InboundTransaction& transaction)>;

/// Works on one frame that was deferred. Include `ackbox/deferred_frame.hpp` to write one: it has `DeferredFrame`,
/// which the handler may keep and answer later from anywhere. Runs on `DeferredOptions::executor`: one frame of a
/// session at a time, in order, several sessions at once. An exception is a failed run.
using DeferredHandler = std::function<void(DeferredFrame frame)>;

}  // namespace ackbox
