#include "manager/poll_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::manager {

PollThread::PollThread(Clock& clock, std::chrono::milliseconds interval, std::function<bool()> work)
    : clock_(clock),
      interval_(interval),
      work_(std::move(work)),
      guard_(context_.get_executor()),
      alarm_(clock.makeAlarm(context_.get_executor())),
      thread_([this] { context_.run(); }) {}

PollThread::~PollThread() {
  context_.stop();
  thread_.join();
  alarm_.reset();
}

void PollThread::arm() {
  boost::asio::post(context_, [this] {
    if (!std::exchange(armed_, true)) {
      wait();
    }
  });
}

void PollThread::wait() {
  alarm_->set(clock_.steadyNow() + interval_, [this] {
    armed_ = work_();
    if (armed_) {
      wait();
    }
  });
}

}  // namespace ackbox::manager
