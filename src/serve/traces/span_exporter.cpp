#include "serve/traces/span_exporter.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "serve/report.hpp"
#include "serve/traces/otlp_json.hpp"
#include "transport/http_client.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::serve {
namespace {

constexpr std::chrono::milliseconds kBatchPause{1'000};
constexpr std::chrono::milliseconds kRetryPauseMax{30'000};
constexpr std::chrono::seconds kExportTimeout{10};

std::shared_ptr<const HttpSenderOptions> exporterOptions(HttpSenderOptions options) {
  options.clock = options.clock ? options.clock : systemClock();
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

/// Whether OTLP permits a retry; all other statuses are final refusals.
bool mayRetry(const transport::HttpAnswer& answer) {
  constexpr std::array kStatuses = {429, 502, 503, 504};
  return answer.end != transport::HttpEnd::answered || std::ranges::find(kStatuses, answer.status) != kStatuses.end();
}

bool isTaken(const transport::HttpAnswer& answer) {
  return answer.end == transport::HttpEnd::answered && answer.status / 100 == 2;
}

}  // namespace

SpanExporter::SpanExporter(const boost::asio::any_io_executor& executor, const TracesConfig& traces,
                           const HttpSenderOptions& options, LogSink log)
    : executor_(executor),
      serviceName_(traces.serviceName),
      log_(std::move(log)),
      options_(exporterOptions(options)),
      clock_(options_->clock),
      url_(transport::parseUrl(traces.url).url.value()),
      tls_(url_.isEncrypted ? std::make_shared<transport::TlsContext>(options.tls, clock_) : nullptr),
      client_(std::make_shared<transport::HttpClient>(executor, options_)),
      alarm_(clock_->makeAlarm(executor)) {}

SpanExporter::~SpanExporter() = default;

void SpanExporter::add(RecordedSpan&& span) {
  std::size_t waiting = 0;
  {
    const MutexLock lock(mutex_);
    if (isClosed_ || queue_.size() >= kSpansMax) {
      ++counts_->dropped;
      return;
    }
    queue_.push_back(std::move(span));
    waiting = queue_.size();
  }
  // The first span starts the pause in which a batch is gathered; a full batch ends the pause.
  if (waiting == 1 || waiting == kBatchSpans) {
    boost::asio::post(executor_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->schedule();
      }
    });
  }
}

std::size_t SpanExporter::waiting() const {
  const MutexLock lock(mutex_);
  return queue_.size();
}

void SpanExporter::schedule() {
  if (isSending_ || !batch_.empty()) {
    return;
  }
  if (waiting() >= kBatchSpans) {
    send();
  } else if (!isAlarmSet_) {
    wakeAfter(kBatchPause);
  }
}

void SpanExporter::wakeAfter(std::chrono::milliseconds pause) {
  isAlarmSet_ = true;
  alarm_->set(clock_->steadyNow() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->send();
    }
  });
}

void SpanExporter::takeBatch() {
  const MutexLock lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchSpans));
  batch_.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.begin() + count));
  queue_.erase(queue_.begin(), queue_.begin() + count);
}

void SpanExporter::send() {
  if (isSending_) {
    return;
  }
  alarm_->cancel();
  isAlarmSet_ = false;
  if (batch_.empty()) {
    takeBatch();
  }
  if (batch_.empty()) {
    goOn();
    return;
  }
  transport::HttpPost post;
  post.url = url_;
  post.tls = tls_;
  post.timeout = kExportTimeout;
  post.headers.emplace_back("Content-Type", "application/json");
  post.body = otlpJson(serviceName_, batch_);
  isSending_ = true;
  client_->asyncPost(std::move(post), [executor = executor_, weak = weak_from_this()](transport::HttpAnswer answer) {
    boost::asio::post(executor, [weak, answer = std::move(answer)] {
      if (const auto self = weak.lock()) {
        self->ended(answer);
      }
    });
  });
}

void SpanExporter::ended(const transport::HttpAnswer& answer) {
  isSending_ = false;
  if (isTaken(answer)) {
    counts_->exported += batch_.size();
    batch_.clear();
    failures_ = 0;
    isReported_ = false;
    goOn();
    return;
  }
  const std::string cause =
      answer.end == transport::HttpEnd::answered ? "answers " + std::to_string(answer.status) : answer.error;
  report(cause);
  if (onIdle_) {
    dropAll();
    goOn();
  } else if (mayRetry(answer)) {
    wakeAfter(std::min(kRetryPauseMax, kBatchPause * (1U << std::min(failures_++, 5U))));
  } else {
    counts_->dropped += batch_.size();
    batch_.clear();
    goOn();
  }
}

void SpanExporter::goOn() {
  const std::size_t left = waiting();
  if (left >= kBatchSpans || (left > 0 && onIdle_)) {
    send();
  } else if (left > 0) {
    wakeAfter(kBatchPause);
  } else if (onIdle_) {
    std::exchange(onIdle_, [] {})();
  }
}

void SpanExporter::dropAll() {
  const MutexLock lock(mutex_);
  counts_->dropped += batch_.size() + queue_.size();
  batch_.clear();
  queue_.clear();
}

void SpanExporter::report(std::string_view cause) {
  if (!log_ || std::exchange(isReported_, true)) {
    return;
  }
  const std::string spans = std::to_string(kSpansMax);
  const std::array<LogField, 2> fields = {LogField{"cause", cause}, LogField{"spans_max", spans}};
  serve::report(log_, *clock_, LogLevel::warning, "collector-away",
                "the collector does not take spans of traces; beyond what may wait they are dropped, and counted",
                fields);
}

void SpanExporter::drain(std::chrono::milliseconds time) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(isClosed_, true)) {
      return;
    }
  }
  const auto idle = std::make_shared<std::promise<void>>();
  boost::asio::post(executor_, [self = shared_from_this(), idle] {
    self->onIdle_ = [idle] { idle->set_value(); };
    self->send();
  });
  idle->get_future().wait_for(time);
  client_->close();
}

}  // namespace ackbox::serve
