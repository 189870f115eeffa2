#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"
#include "ackbox/trace_hooks.hpp"
#include "serve/traces/span_exporter.hpp"

namespace ackbox::serve {

/// Records a span for each step of a message. An enqueue is a child of the frame's `traceparent`, or begins a trace. A
/// request, and the handling of a frame, are children of the enqueue; a request with messages of several traces belongs
/// to the first one and links to all. Steps that the frame's `traceparent` marks as not sampled are not recorded.
///
/// Thread-safety: all members may be called from any thread.
class SpanRecorder final : public TraceHooks {
public:
  SpanRecorder(std::shared_ptr<SpanExporter> exporter, std::shared_ptr<Clock> clock, std::shared_ptr<Random> random);

  Span enqueueBegan(const TracedMessage& message, std::string& traceparent) override;
  void enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) override;
  Span requestBegan(const TracedRequest& request, std::string& traceparent) override;
  void requestEnded(const Span& span, const TracedAnswer& answer) override;
  Span handlingBegan(const TracedHandling& handling) override;
  void handlingEnded(const Span& span, const TracedDecision& decision) override;

private:
  /// Returns null if `parent` is not sampled.
  std::shared_ptr<RecordedSpan> begin(RecordedSpan::Kind kind, std::string_view name, std::string_view parent);
  void end(RecordedSpan& span);
  [[nodiscard]] std::string idOf(std::size_t words);

  const std::shared_ptr<SpanExporter> exporter_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Random> random_;
};

}  // namespace ackbox::serve
