#include "serve/api/run_watch.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"

namespace ackbox::serve {
namespace {

constexpr std::chrono::seconds kRunLook{1};
// Keeps a delivery that ends again and again from looking ready in between.
constexpr std::chrono::seconds kEndCounts{5};

}  // namespace

RunWatch::RunWatch(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, OutboxManager& manager,
                   LogSink log)
    : executor_(executor),
      clock_(std::move(clock)),
      manager_(manager),
      log_(std::move(log)),
      alarm_(clock_->makeAlarm(executor)) {}

void RunWatch::start() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->arm(); });
}

void RunWatch::stop() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->isStopped_ = true;
    self->alarm_->cancel();
  });
}

bool RunWatch::isWell() const {
  const SteadyTime last = lastEnd_;
  return manager_.isDelivering() && (last == SteadyTime::min() || clock_->steadyNow() - last >= kEndCounts);
}

void RunWatch::arm() {
  if (isStopped_) {
    return;
  }
  alarm_->set(clock_->steadyNow() + kRunLook, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->arm();
      self->look();
    }
  });
}

void RunWatch::look() {
  if (isStopped_ || manager_.isDelivering()) {
    return;
  }
  lastEnd_ = clock_->steadyNow();
  try {
    manager_.start();
  } catch (const std::exception& error) {
    report("the delivery has ended by itself, and cannot begin again yet: " + std::string(error.what()));
    return;
  }
  report("the delivery had ended by itself, for the cause in the record unwell before this, and has begun again");
}

void RunWatch::report(const std::string& text) const {
  LogRecord record;
  record.level = LogLevel::error;
  record.at = clock_->wallNow();
  record.event = "delivery-ended";
  record.text = text;
  log_(record);
}

}  // namespace ackbox::serve
