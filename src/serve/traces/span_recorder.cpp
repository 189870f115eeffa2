#include "serve/traces/span_recorder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/shown_url.hpp"
#include "serve/traces/traceparent.hpp"

namespace ackbox::serve {
namespace {

using Kind = RecordedSpan::Kind;

std::string traceparentOf(const RecordedSpan& span) {
  return "00-" + span.traceId + "-" + span.spanId + "-01";
}

RecordedSpan* spanOf(const TraceHooks::Span& span) {
  return static_cast<RecordedSpan*>(span.get());
}

void addMessage(RecordedSpan& span, const TracedMessage& message) {
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) {
      span.attributes.emplace_back(name, value);
    }
  };
  add("messaging.message.id", message.id);
  add("ackbox.peer", message.peer);
  add("ackbox.session", message.session);
  add("ackbox.type", message.type);
}

}  // namespace

SpanRecorder::SpanRecorder(std::shared_ptr<SpanExporter> exporter, std::shared_ptr<Clock> clock,
                           std::shared_ptr<Random> random)
    : exporter_(std::move(exporter)), clock_(std::move(clock)), random_(std::move(random)) {}

std::string SpanRecorder::idOf(std::size_t words) {
  std::string id;
  while (words-- > 0) {
    std::uint64_t word = 0;
    // An id of zeros is invalid.
    while (word == 0) {
      word = random_->next();
    }
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(word));
    id += digits.data();
  }
  return id;
}

std::shared_ptr<RecordedSpan> SpanRecorder::begin(Kind kind, std::string_view name, std::string_view parent) {
  if (!parent.empty() && !isSampled(parent)) {
    return nullptr;
  }
  auto span = std::make_shared<RecordedSpan>();
  span->kind = kind;
  span->name = name;
  span->traceId = parent.empty() ? idOf(2) : std::string(traceIdOf(parent));
  span->spanId = idOf(1);
  span->parentId = parent.empty() ? std::string() : std::string(spanIdOf(parent));
  span->beganAt = clock_->wallNow();
  span->attributes.emplace_back("messaging.system", "ackbox");
  return span;
}

void SpanRecorder::end(RecordedSpan& span) {
  // The system's calendar may have been set back.
  span.endedAt = std::max(span.beganAt, clock_->wallNow());
  exporter_->add(std::move(span));
}

TraceHooks::Span SpanRecorder::enqueueBegan(const TracedMessage& message, std::string& traceparent) {
  std::shared_ptr<RecordedSpan> span = begin(Kind::producer, "enqueue", message.traceparent);
  if (span) {
    traceparent = traceparentOf(*span);
    // The span's id is set from the receipt.
    TracedMessage known = message;
    known.id = {};
    addMessage(*span, known);
  }
  return span;
}

void SpanRecorder::enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) {
  if (RecordedSpan* const recorded = spanOf(span)) {
    recorded->isFailed =
        error || (receipt.status != EnqueueStatus::stored && receipt.status != EnqueueStatus::duplicate);
    recorded->error = error ? error.message() : receipt.detail;
    if (!error) {
      recorded->attributes.emplace_back("messaging.message.id", receipt.messageId);
      recorded->attributes.emplace_back("ackbox.status", toString(receipt.status));
    }
    end(*recorded);
  }
}

TraceHooks::Span SpanRecorder::requestBegan(const TracedRequest& request, std::string& traceparent) {
  const auto first = std::ranges::find_if(request.messages,
                                          [](const TracedMessage& message) { return isSampled(message.traceparent); });
  if (first == request.messages.end()) {
    return nullptr;
  }
  std::shared_ptr<RecordedSpan> span = begin(Kind::client, "send", first->traceparent);
  traceparent = traceparentOf(*span);
  span->attributes.emplace_back("ackbox.peer", request.peer);
  span->attributes.emplace_back("url.full", shownUrl(request.url));
  span->attributes.emplace_back("messaging.batch.message_count", std::to_string(request.messages.size()));
  for (const TracedMessage& message : request.messages) {
    if (isSampled(message.traceparent)) {
      span->links.emplace_back(message.traceparent);
    }
  }
  return span;
}

void SpanRecorder::requestEnded(const Span& span, const TracedAnswer& answer) {
  if (RecordedSpan* const recorded = spanOf(span)) {
    recorded->isFailed = answer.outcome != RequestOutcome::answered;
    recorded->error = answer.error;
    recorded->attributes.emplace_back("ackbox.outcome", toString(answer.outcome));
    if (answer.status != 0) {
      recorded->attributes.emplace_back("http.response.status_code", std::to_string(answer.status));
    }
    end(*recorded);
  }
}

TraceHooks::Span SpanRecorder::handlingBegan(const TracedHandling& handling) {
  const TracedMessage& message = handling.message;
  std::shared_ptr<RecordedSpan> span =
      begin(Kind::consumer, handling.isDeferred ? "process" : "receive", message.traceparent);
  if (span) {
    addMessage(*span, message);
    if (!handling.hopTraceparent.empty() && handling.hopTraceparent != message.traceparent) {
      span->links.emplace_back(handling.hopTraceparent);
    }
  }
  return span;
}

void SpanRecorder::handlingEnded(const Span& span, const TracedDecision& decision) {
  if (RecordedSpan* const recorded = spanOf(span)) {
    recorded->isFailed = decision.outcome == Outcome::nack || decision.outcome == Outcome::term;
    recorded->error = decision.error;
    recorded->attributes.emplace_back("ackbox.outcome", toString(decision.outcome));
    if (!decision.code.empty()) {
      recorded->attributes.emplace_back("ackbox.code", decision.code);
    }
    end(*recorded);
  }
}

}  // namespace ackbox::serve
