#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/traces/recorded_span.hpp"

namespace ackbox::serve {

/// An export request as OTLP 1 has it in JSON (`ExportTraceServiceRequest`).
[[nodiscard]] std::string otlpJson(std::string_view serviceName, std::span<const RecordedSpan> spans);

}  // namespace ackbox::serve
