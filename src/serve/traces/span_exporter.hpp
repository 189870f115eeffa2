#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"
#include "serve/config/config.hpp"
#include "serve/traces/recorded_span.hpp"
#include "serve/traces/span_counts.hpp"
#include "transport/url.hpp"

namespace ackbox::transport {
struct HttpAnswer;
class HttpClient;
class TlsContext;
}  // namespace ackbox::transport

namespace ackbox::serve {

/// Posts spans to a collector, in batches, one request at a time. While the collector is unreachable, a limited number
/// of spans waits; further spans are dropped and counted. Never blocks a caller that adds a span.
///
/// Thread-safety: all members may be called from any thread.
class SpanExporter : public std::enable_shared_from_this<SpanExporter> {
public:
  static constexpr std::size_t kSpansMax = 8192;
  static constexpr std::size_t kBatchSpans = 512;

  /// `executor` must be serial. `traces.url` must be valid. Uses those fields of `options` that configure the client.
  SpanExporter(const boost::asio::any_io_executor& executor, const TracesConfig& traces,
               const HttpSenderOptions& options, LogSink log);
  ~SpanExporter();

  /// Queues the span for export, or drops it.
  void add(RecordedSpan&& span) ACKBOX_EXCLUDES(mutex_);

  /// Exports the remaining spans for at most `time`, then drops those that are left and all later ones. Must not be
  /// called on the executor. Idempotent.
  void drain(std::chrono::milliseconds time) ACKBOX_EXCLUDES(mutex_);

  [[nodiscard]] std::shared_ptr<const SpanCounts> counts() const noexcept { return counts_; }

private:
  // Called on the executor.
  void schedule();
  void wakeAfter(std::chrono::milliseconds pause);
  void send();
  void ended(const transport::HttpAnswer& answer);
  void goOn();
  void dropAll() ACKBOX_EXCLUDES(mutex_);
  void takeBatch() ACKBOX_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t waiting() const ACKBOX_EXCLUDES(mutex_);
  void report(std::string_view cause);

  const boost::asio::any_io_executor executor_;
  const std::string serviceName_;
  const LogSink log_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  const std::shared_ptr<Clock> clock_;
  const transport::Url url_;
  // Null for plain HTTP.
  const std::shared_ptr<transport::TlsContext> tls_;
  const std::shared_ptr<transport::HttpClient> client_;
  const std::shared_ptr<SpanCounts> counts_ = std::make_shared<SpanCounts>();

  mutable Mutex mutex_;
  std::deque<RecordedSpan> queue_ ACKBOX_GUARDED_BY(mutex_);
  bool isClosed_ ACKBOX_GUARDED_BY(mutex_) = false;

  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  // The batch that is being sent or retried.
  std::vector<RecordedSpan> batch_;
  bool isAlarmSet_ = false;
  bool isSending_ = false;
  unsigned failures_ = 0;
  // Set after a report until the next batch is accepted, so that each outage of the collector is logged once.
  bool isReported_ = false;
  // While draining: called when no spans are left.
  std::function<void()> onIdle_;
};

}  // namespace ackbox::serve
