#include "manager/run/poll_thread.hpp"

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
      thread_([this] { serve(); }) {}

PollThread::~PollThread() {
  context_.stop();
  thread_.join();
  alarm_.reset();
}

// What is thrown ends one handler, and neither the thread nor the process.
void PollThread::serve() noexcept {
  while (!context_.stopped()) {
    try {
      context_.run();
    } catch (...) {
      continue;
    }
  }
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
    bool goesOn = true;
    try {
      goesOn = work_();
    } catch (...) {
      // What could not be done now, for want of memory or of the disk, is tried at the next turn.
    }
    armed_ = goesOn;
    if (goesOn) {
      wait();
    }
  });
}

}  // namespace ackbox::manager
