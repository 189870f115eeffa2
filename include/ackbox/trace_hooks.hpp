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

/// A message in a trace, without its data. Lifetime: the hook's call.
struct TracedMessage {
  /// Its id, which the receiver knows, too; empty if the outbox has not chosen it yet.
  std::string_view id = {};
  /// The peer's name; for an inbound frame, its sender's agent URI.
  std::string_view peer = {};
  std::string_view session = {};
  std::string_view type = {};
  std::uint64_t dataBytes = 0;
  /// The W3C `traceparent` of its origin, the parent or a link of each of its spans. Empty if it has none.
  std::string_view traceparent = {};
};

/// A request to a peer: one attempt of each of its messages. Lifetime: the hook's call.
struct TracedRequest {
  std::string_view peer = {};
  std::string_view url = {};
  /// The links of the request's span, because messages of several traces may travel together.
  std::span<const TracedMessage> messages = {};
};

/// The result of a request. Lifetime: the hook's call.
struct TracedAnswer {
  RequestOutcome outcome = RequestOutcome::peerUnavailable;
  /// The HTTP status; 0 if there was no answer or the sender does not speak HTTP.
  int status = 0;
  /// For people, when not `answered`: what happened.
  std::string_view error = {};
  /// For `answered`: one for each of the messages, in order. Otherwise empty.
  std::span<const Outcome> outcomes = {};
};

/// A frame that a handler is called with. Lifetime: the hook's call.
struct TracedHandling {
  /// `traceparent` is that of the frame's origin, the parent of the handling's span; if the frame has none, it is
  /// `hopTraceparent`.
  TracedMessage message = {};
  /// The `traceparent` header of the request that brought the frame, for a link; empty if there was none, or the frame
  /// was deferred.
  std::string_view hopTraceparent = {};
  /// Whether it is a run of a `DeferredHandler`.
  bool isDeferred = false;
};

/// A handler's decision. Lifetime: the hook's call.
struct TracedDecision {
  /// `nack` if the handler threw.
  Outcome outcome = Outcome::ack;
  /// See `HandlerResult::code`; `handler-error`: it threw, or ended without an answer; `not-committed`: the end of a
  /// deferred run is not in the file, and the run is repeated.
  std::string_view code = {};
  /// The text of the handler's exception, or the detail of its answer.
  std::string_view error = {};
};

/// Calls the program at the beginning and the end of each step of a message, so that the program can make spans of a
/// tracing system: set in `OutboxOptions::trace` for enqueues and requests, in `InboundOptions::trace` for the handling
/// of frames. Every member does nothing unless it is overridden.
///
/// A member that begins a step returns an object, such as a span of the tracing system, that is passed to the member
/// that ends the step; null is allowed. The object is dropped without an end if the end is not known: the manager was
/// stopped or destroyed meanwhile, or there was not enough memory.
///
/// An exception of a hook is only logged (`callback-threw`); the value that it was about to set is ignored.
///
/// Thread-safety: all members are called from any thread, several at once, and must not call the manager. They run on
/// the thread that does the work, also within transactions: they must be short.
/// Lifetime: kept alive by the manager and the handlers.
class TraceHooks {
public:
  using Span = std::shared_ptr<void>;

  virtual ~TraceHooks() = default;

  /// Called before a frame is stored by an `OutboxManager`, by an `OutboxWriter` or in an `InboundTransaction`, on the
  /// caller's thread. `traceparent` is the frame's, and may be changed: it is stored with the message and sent along,
  /// and the receiver's handling is its child. A value that is not a W3C `traceparent` is ignored.
  virtual Span enqueueBegan(const TracedMessage& message, std::string& traceparent) {
    (void)message;
    (void)traceparent;
    return {};
  }

  /// Called with the receipt, also of a refusal; with an `error` the receipt has no content. With an `OutboxWriter` and
  /// in an `InboundTransaction`, called before the commit of the caller's transaction, which may still be rolled back.
  virtual void enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) {
    (void)span;
    (void)error;
    (void)receipt;
  }

  /// Called when a request is given to its sender, on the delivery thread. `traceparent` is empty at first; a value set
  /// here becomes the request's header, unless `HttpSenderOptions::traceparent` gives another one, and reaches the
  /// receiver as `InboundFrame::hopTraceparent`. If it stays empty or is not a W3C `traceparent`, the header is that of
  /// the messages, if all have the same. Not called for claims by hand (`PullConsumer::claim`): their requests are the
  /// caller's.
  virtual Span requestBegan(const TracedRequest& request, std::string& traceparent) {
    (void)request;
    (void)traceparent;
    return {};
  }

  /// Called when the sender has reported, on the delivery thread. The messages are not settled yet.
  virtual void requestEnded(const Span& span, const TracedAnswer& answer) {
    (void)span;
    (void)answer;
  }

  /// Called before a handler is called, on the same thread. A duplicate or a refused frame reaches no handler. A
  /// `FrameHandler` may be called several times for one frame, see `FrameHandler`; each call is one handling.
  virtual Span handlingBegan(const TracedHandling& handling) {
    (void)handling;
    return {};
  }

  /// Called when the handler has decided: for a `FrameHandler` on its thread, right after it and before the commit; for
  /// a `DeferredHandler` on the thread that commits, after the commit.
  virtual void handlingEnded(const Span& span, const TracedDecision& decision) {
    (void)span;
    (void)decision;
  }
};

}  // namespace ackbox
