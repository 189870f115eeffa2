#include "serve/inbox/application_board.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::serve {
namespace {

constexpr std::chrono::seconds kPause{1};

}  // namespace

ApplicationBoard::ApplicationBoard(boost::asio::any_io_executor executor, const std::shared_ptr<Clock>& clock,
                                   std::function<Applications()> read)
    : executor_(std::move(executor)), clock_(clock), read_(std::move(read)), alarm_(clock->makeAlarm(executor_)) {}

void ApplicationBoard::start() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->refresh(); });
}

void ApplicationBoard::stop() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->stopped_ = true;
    self->alarm_->cancel();
  });
}

std::shared_ptr<const ApplicationBoard::Applications> ApplicationBoard::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

void ApplicationBoard::refresh() {
  if (stopped_) {
    return;
  }
  auto read = std::make_shared<const Applications>(read_());
  {
    const MutexLock lock(mutex_);
    current_ = std::move(read);
  }
  alarm_->set(clock_->steadyNow() + kPause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->refresh();
    }
  });
}

}  // namespace ackbox::serve
