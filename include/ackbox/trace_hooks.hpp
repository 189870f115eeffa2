#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace ackbox {

/// A message in a trace, without its data. Lifetime: of the call of the hook.
struct TracedMessage {
  /// Its id, which the receiver knows, too; empty: the outbox has not chosen it yet.
  std::string_view id = {};
  /// The peer's name; of a frame that came in, its sender's agent URI.
  std::string_view peer = {};
  std::string_view session = {};
  std::string_view type = {};
  std::uint64_t dataBytes = 0;
  /// Where it began, as a W3C `traceparent`: what a span of it is a child of, or linked to. Empty: it has none.
  std::string_view traceparent = {};
};

/// A request to a peer: one attempt of each of its messages. Lifetime: of the call of the hook.
struct TracedRequest {
  std::string_view peer = {};
  std::string_view url = {};
  /// The links of a span of it, as messages of several traces may travel together.
  std::span<const TracedMessage> messages = {};
};

/// What came of a request. Lifetime: of the call of the hook.
struct TracedAnswer {
  RequestOutcome outcome = RequestOutcome::peerUnavailable;
  /// The status of HTTP; 0: there was no answer, or the sender does not speak HTTP.
  int status = 0;
  /// For people, when not `answered`: what happened.
  std::string_view error = {};
  /// For `answered`: one for each of the messages, in order. Otherwise empty.
  std::span<const Outcome> outcomes = {};
};

/// A frame that a handler is called with. Lifetime: of the call of the hook.
struct TracedHandling {
  /// `traceparent` is where the frame began, the parent of a span of the handling; where the frame does not say, it is
  /// `hopTraceparent`.
  TracedMessage message = {};
  /// The `traceparent` header of the request that brought it, for a link; empty: there was none, or the frame was
  /// deferred.
  std::string_view hopTraceparent = {};
  /// Whether it is a run of a `DeferredHandler`.
  bool isDeferred = false;
};

/// What a handler decided. Lifetime: of the call of the hook.
struct TracedDecision {
  /// Of a handler that threw: `nack`.
  Outcome outcome = Outcome::ack;
  /// See `HandlerResult::code`; `handler-error`: it threw, or ended without an answer; `not-committed`: the end of a
  /// deferred run is not in the file, and the run is made again.
  std::string_view code = {};
  /// What it threw, or the detail of its answer.
  std::string_view error = {};
};

/// Where a program learns of the begin and the end of each step of a message, to make spans of a tracing system of
/// them: set in `OutboxOptions::trace` for enqueues and requests, in `InboundOptions::trace` for the handling of
/// frames. Every member does nothing unless it is overridden.
///
/// A member that begins something returns what the member that ends it is given, such as a span of the tracing system;
/// null is allowed. It is dropped without an end where the end is not known: the manager was stopped or destroyed
/// meanwhile, or there was not the memory.
///
/// What a hook throws goes to the log (`callback-threw`) and no further; what it was about to set is not taken.
///
/// Thread-safety: all members are called from any thread, several at once, and must not call the manager. They run
/// where the work does, within transactions among others: they must be short.
/// Lifetime: kept alive by the manager and the handlers.
class TraceHooks {
public:
  using Span = std::shared_ptr<void>;

  virtual ~TraceHooks() = default;

  /// A frame is to be stored, by an `OutboxManager`, an `OutboxWriter` or in an `InboundTransaction`, in the caller's
  /// thread. `traceparent` is the frame's, and may be changed: it is stored with the message and sent along, and the
  /// receiver's handling is its child. What is no `traceparent` of W3C's is not taken.
  virtual Span enqueueBegan(const TracedMessage& message, std::string& traceparent) {
    (void)message;
    (void)traceparent;
    return {};
  }

  /// The receipt, also of a refusal; null with an `error`. With an `OutboxWriter` and in an
  /// `InboundTransaction` it is before the commit of the caller's transaction, which may still be rolled back.
  virtual void enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) {
    (void)span;
    (void)error;
    (void)receipt;
  }

  /// A request is given to its sender, in the thread that delivers. What `traceparent` is set to is the request's
  /// header, unless `HttpSenderOptions::traceparent` gives another one, and reaches the receiver as
  /// `InboundFrame::hopTraceparent`. It is empty at first, and what is no `traceparent` of W3C's is not taken: then the
  /// header is that of the messages, where all have the same. Not called for claims by hand (`OutboxManager::claim`):
  /// their requests are the caller's.
  virtual Span requestBegan(const TracedRequest& request, std::string& traceparent) {
    (void)request;
    (void)traceparent;
    return {};
  }

  /// The sender has reported, in the thread that delivers. The messages are not settled yet.
  virtual void requestEnded(const Span& span, const TracedAnswer& answer) {
    (void)span;
    (void)answer;
  }

  /// A handler is about to be called, in the same thread. A duplicate or a refused frame reaches no handler. A
  /// `FrameHandler` may be called several times for one frame, see `FrameHandler`; each time is one handling.
  virtual Span handlingBegan(const TracedHandling& handling) {
    (void)handling;
    return {};
  }

  /// The handler has decided. Of a `FrameHandler` it is in its thread, right behind it and before the commit; of a
  /// `DeferredHandler` in whatever thread commits, and after the commit.
  virtual void handlingEnded(const Span& span, const TracedDecision& decision) {
    (void)span;
    (void)decision;
  }
};

}  // namespace ackbox
