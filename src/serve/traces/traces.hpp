#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

#include "ackbox/trace_hooks.hpp"
#include "serve/config/config.hpp"
#include "serve/traces/span_counts.hpp"

namespace ackbox::serve {

class SpanExporter;

/// The tracing of a daemon; also of a daemon that records no traces.
struct Traces {
  /// Null if no traces are recorded.
  std::shared_ptr<TraceHooks> hooks = {};
  /// Never null.
  std::shared_ptr<const SpanCounts> counts = {};
  std::shared_ptr<SpanExporter> exporter = {};

  /// `executor` must be serial. Throws `Error` as `HttpSender` if TLS is misconfigured.
  [[nodiscard]] static Traces open(const boost::asio::any_io_executor& executor, const Config& config);

  /// Exports the remaining spans for at most `time`; see `SpanExporter::drain`.
  void drain(std::chrono::milliseconds time) const;
};

}  // namespace ackbox::serve
