#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

#include "ackbox/trace_hooks.hpp"
#include "serve/config/config.hpp"
#include "serve/traces/span_counts.hpp"

namespace ackbox::serve {

class SpanExporter;

/// The traces of a daemon, or of one that makes none.
struct Traces {
  /// Null: none.
  std::shared_ptr<TraceHooks> hooks = {};
  /// Never null.
  std::shared_ptr<const SpanCounts> counts = {};
  std::shared_ptr<SpanExporter> exporter = {};

  /// `executor` runs one thing at a time. Throws `Error` as `HttpSender` where TLS is not as it must be.
  [[nodiscard]] static Traces open(const boost::asio::any_io_executor& executor, const Config& config);

  /// Exports what is left, for `time` at most; see `SpanExporter::drain`.
  void drain(std::chrono::milliseconds time) const;
};

}  // namespace ackbox::serve
