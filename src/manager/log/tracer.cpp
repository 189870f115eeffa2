#include "manager/log/tracer.hpp"

#include <vector>

#include "base/exception_report.hpp"
#include "base/published.hpp"
#include "protocol/wire.hpp"

namespace ackbox::manager {
namespace {

TracedMessage messageOf(const Frame& frame) noexcept {
  return {.id = frame.id,
          .peer = frame.peer,
          .session = frame.session,
          .type = frame.type,
          .dataBytes = frame.data.size(),
          .traceparent = frame.traceparent};
}

TracedMessage messageOf(const OutboundFrame& frame, std::string_view peer) noexcept {
  return {.id = frame.messageId,
          .peer = peer,
          .session = frame.session,
          .type = frame.type,
          .dataBytes = frame.data.size(),
          .traceparent = frame.traceparent};
}

TracedMessage messageOf(const InboundFrame& frame) noexcept {
  return {.id = frame.id,
          .peer = frame.source,
          .session = frame.session,
          .type = frame.type,
          .dataBytes = frame.data.size(),
          .traceparent = frame.traceparent};
}

}  // namespace

Tracer::Tracer(std::shared_ptr<TraceHooks> hooks, Log& log) : hooks_(std::move(hooks)), log_(&log) {}

template <typename Call>
void Tracer::calling(const char* hook, Call&& call) const noexcept {
  reportingThrown(
      [this, hook](const std::string& what) {
        log_->write(LogLevel::error, "callback-threw",
                    std::string("TraceHooks::") + hook + " threw; nothing else is affected: " + what,
                    {{"error", what}});
      },
      call);
}

Tracer::Span Tracer::enqueueBegan(Frame& frame) const noexcept {
  Span span;
  calling("enqueueBegan", [&] {
    std::string traceparent = frame.traceparent;
    span = hooks_->enqueueBegan(messageOf(frame), traceparent);
    if (protocol::isTraceparent(traceparent)) {
      frame.traceparent = std::move(traceparent);
    }
  });
  return span;
}

void Tracer::enqueueEnded(const Span& span, const std::error_code& error,
                          const EnqueueReceipt& receipt) const noexcept {
  calling("enqueueEnded", [&] { hooks_->enqueueEnded(span, error, receipt); });
}

void Tracer::publishEnded(const Span& span, const std::error_code& error,
                          const PublishReceipt& receipt) const noexcept {
  calling("enqueueEnded", [&] { hooks_->enqueueEnded(span, error, asEnqueue(receipt)); });
}

Tracer::Span Tracer::requestBegan(SendRequest& request) const noexcept {
  Span span;
  calling("requestBegan", [&] {
    std::vector<TracedMessage> messages;
    messages.reserve(request.frames.size());
    for (const OutboundFrame& frame : request.frames) {
      messages.push_back(messageOf(frame, request.peer));
    }
    std::string traceparent;
    span = hooks_->requestBegan({.peer = request.peer, .url = request.url, .messages = messages}, traceparent);
    if (protocol::isTraceparent(traceparent)) {
      request.traceparent = std::move(traceparent);
    }
  });
  return span;
}

void Tracer::requestEnded(const Span& span, const SendReport& report) const noexcept {
  calling("requestEnded", [&] {
    std::vector<Outcome> outcomes;
    if (report.outcome == RequestOutcome::answered) {
      for (const FrameResult& result : report.results) {
        outcomes.push_back(result.outcome);
      }
    }
    hooks_->requestEnded(
        span, {.outcome = report.outcome, .status = report.status, .error = report.error, .outcomes = outcomes});
  });
}

Tracer::Span Tracer::handlingBegan(const InboundFrame& frame, bool isDeferred) const noexcept {
  Span span;
  calling("handlingBegan", [&] {
    span = hooks_->handlingBegan(
        {.message = messageOf(frame), .hopTraceparent = frame.hopTraceparent, .isDeferred = isDeferred});
  });
  return span;
}

void Tracer::handlingEnded(const Span& span, const TracedDecision& decision) const noexcept {
  calling("handlingEnded", [&] { hooks_->handlingEnded(span, decision); });
}

TracedDecision Tracer::decisionOf(const HandlerResult& answer) noexcept {
  return {.outcome = answer.outcome, .code = answer.code, .error = answer.detail};
}

TracedDecision Tracer::thrown(std::string_view what) noexcept {
  return {.outcome = Outcome::nack, .code = "handler-error", .error = what};
}

}  // namespace ackbox::manager
