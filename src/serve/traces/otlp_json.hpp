#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/traces/recorded_span.hpp"

namespace ackbox::serve {

/// An export request in the JSON encoding of OTLP 1 (`ExportTraceServiceRequest`).
[[nodiscard]] std::string otlpJson(std::string_view serviceName, std::span<const RecordedSpan> spans);

}  // namespace ackbox::serve
