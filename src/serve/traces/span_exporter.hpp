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

/// Posts spans to a collector, in batches, one request at a time. While the collector is away a limited number of spans
/// waits; those that come then are dropped and counted. Nothing waits for it.
///
/// Thread-safety: all members may be called from any thread.
class SpanExporter : public std::enable_shared_from_this<SpanExporter> {
public:
  static constexpr std::size_t kSpansMax = 8192;
  static constexpr std::size_t kBatchSpans = 512;

  /// `executor` runs one thing at a time. `traces.url` is valid, of `options` it uses what is the client's.
  SpanExporter(const boost::asio::any_io_executor& executor, const TracesConfig& traces,
               const HttpSenderOptions& options, LogSink log);
  ~SpanExporter();

  /// Takes the span to be exported soon, or drops it.
  void add(RecordedSpan&& span) ACKBOX_EXCLUDES(mutex_);

  /// Exports what is left, for `time` at most, and drops what is left then, and what comes later. Not to be called on
  /// the executor. Idempotent.
  void drain(std::chrono::milliseconds time) ACKBOX_EXCLUDES(mutex_);

  [[nodiscard]] std::shared_ptr<const SpanCounts> counts() const noexcept { return counts_; }

private:
  // On the executor.
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
  // What is under way, or is tried again.
  std::vector<RecordedSpan> batch_;
  bool isAlarmSet_ = false;
  bool isSending_ = false;
  unsigned failures_ = 0;
  // Since the last batch that was taken; so that there is one line for each time that the collector is away.
  bool isReported_ = false;
  // While it drains: called when nothing is left.
  std::function<void()> onIdle_;
};

}  // namespace ackbox::serve
