#include "serve/traces/otlp_json.hpp"

#include <chrono>

#include "ackbox/version.hpp"
#include "json/writer.hpp"
#include "serve/traces/traceparent.hpp"

namespace ackbox::serve {
namespace {

using json::ObjectWriter;

constexpr std::uint64_t kStatusError = 2;

void appendAttribute(std::string& json, std::string_view name, std::string_view text) {
  json::ObjectWriter attribute(json);
  attribute.text("key", name);
  attribute.key("value");
  json::ObjectWriter value(json);
  value.text("stringValue", text);
  value.close();
  attribute.close();
}

/// Appends a JSON list, calling `appendItem(item)` for each item.
template <typename Items, typename AppendItem>
void appendList(std::string& json, const Items& items, const AppendItem& appendItem) {
  json.push_back('[');
  const char* before = "";
  for (const auto& item : items) {
    json += before;
    appendItem(item);
    before = ",";
  }
  json.push_back(']');
}

std::uint64_t nanoseconds(WallTime instant) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(instant.time_since_epoch()).count());
}

void appendSpan(std::string& json, const RecordedSpan& span) {
  json::ObjectWriter object(json);
  object.text("traceId", span.traceId);
  object.text("spanId", span.spanId);
  object.textIfAny("parentSpanId", span.parentId);
  object.text("name", span.name);
  object.number("kind", static_cast<std::uint64_t>(span.kind));
  object.counter("startTimeUnixNano", nanoseconds(span.beganAt));
  object.counter("endTimeUnixNano", nanoseconds(span.endedAt));
  object.key("attributes");
  appendList(json, span.attributes,
             [&](const auto& attribute) { appendAttribute(json, attribute.first, attribute.second); });
  object.key("links");
  appendList(json, span.links, [&](const std::string& traceparent) {
    json::ObjectWriter link(json);
    link.text("traceId", traceIdOf(traceparent));
    link.text("spanId", spanIdOf(traceparent));
    link.close();
  });
  if (span.isFailed) {
    object.key("status");
    json::ObjectWriter status(json);
    status.number("code", kStatusError);
    status.textIfAny("message", span.error);
    status.close();
  }
  object.close();
}

}  // namespace

std::string otlpJson(std::string_view serviceName, std::span<const RecordedSpan> spans) {
  std::string json = R"({"resourceSpans":[{"resource":{"attributes":[)";
  appendAttribute(json, "service.name", serviceName);
  json += R"(]},"scopeSpans":[{"scope":)";
  json::ObjectWriter scope(json);
  scope.text("name", "ackbox");
  scope.text("version", kVersion);
  scope.close();
  json += R"(,"spans":)";
  appendList(json, spans, [&](const RecordedSpan& span) { appendSpan(json, span); });
  return json += "}]}]}";
}

}  // namespace ackbox::serve
