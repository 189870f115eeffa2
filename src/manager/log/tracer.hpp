#pragma once

#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "ackbox/frame.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/trace_hooks.hpp"
#include "base/exception_report.hpp"
#include "manager/log/log.hpp"
#include "store/failure.hpp"

namespace ackbox::manager {

/// Calls a program's trace hooks, if there are any. Their exceptions go to the log and no further.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: the log outlives it.
class Tracer {
public:
  using Span = TraceHooks::Span;

  Tracer(std::shared_ptr<TraceHooks> hooks, Log& log);

  [[nodiscard]] bool isOn() const noexcept { return hooks_ != nullptr; }

  /// The frame gets the `traceparent` that the hook gives.
  [[nodiscard]] Span enqueueBegan(Frame& frame) const noexcept;
  void enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) const noexcept;
  /// Calls `store(frame)` between the two.
  template <typename Store>
  EnqueueReceipt aroundEnqueue(const Frame& frame, Store&& store) const {
    if (!isOn()) {
      return store(frame);
    }
    Frame traced = frame;
    const Span span = enqueueBegan(traced);
    try {
      EnqueueReceipt receipt = store(traced);
      enqueueEnded(span, {}, receipt);
      return receipt;
    } catch (...) {
      enqueueEnded(span, store::errorOf(std::current_exception()), {});
      throw;
    }
  }

  /// The span has the outcome of the publish, and its first message.
  void publishEnded(const Span& span, const std::error_code& error, const PublishReceipt& receipt) const noexcept;
  /// The same as `aroundEnqueue`.
  template <typename Publish>
  PublishReceipt aroundPublish(const Frame& frame, Publish&& publish) const {
    if (!isOn()) {
      return publish(frame);
    }
    Frame traced = frame;
    traced.peer = kAllSubscribers;
    const Span span = enqueueBegan(traced);
    try {
      PublishReceipt receipt = publish(traced);
      publishEnded(span, {}, receipt);
      return receipt;
    } catch (...) {
      publishEnded(span, store::errorOf(std::current_exception()), {});
      throw;
    }
  }

  /// The request gets the `traceparent` that the hook gives.
  [[nodiscard]] Span requestBegan(SendRequest& request) const noexcept;
  void requestEnded(const Span& span, const SendReport& report) const noexcept;

  [[nodiscard]] Span handlingBegan(const InboundFrame& frame, bool isDeferred) const noexcept;
  void handlingEnded(const Span& span, const TracedDecision& decision) const noexcept;
  /// Calls `handler()` between the two.
  template <typename Handler>
  HandlerResult aroundHandling(const InboundFrame& frame, Handler&& handler) const {
    if (!isOn()) {
      return handler();
    }
    const Span span = handlingBegan(frame, false);
    try {
      HandlerResult answer = handler();
      handlingEnded(span, decisionOf(answer));
      return answer;
    } catch (...) {
      handlingEnded(span, thrown(whatOf(std::current_exception())));
      throw;
    }
  }

  [[nodiscard]] static TracedDecision decisionOf(const HandlerResult& answer) noexcept;
  [[nodiscard]] static TracedDecision thrown(std::string_view what) noexcept;

private:
  template <typename Call>
  void calling(const char* hook, Call&& call) const noexcept;

  std::shared_ptr<TraceHooks> hooks_;
  Log* log_;
};

}  // namespace ackbox::manager
