#include "manager/run/poll_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace ackbox::manager {

PollThread::PollThread(Clock& clock, std::chrono::milliseconds interval, std::function<bool()> work,
                       OnException onException)
    : clock_(clock),
      interval_(interval),
      work_(std::move(work)),
      onException_(std::move(onException)),
      guard_(context_.get_executor()),
      alarm_(clock.makeAlarm(context_.get_executor())),
      thread_([this] { serve(); }) {}

PollThread::~PollThread() {
  context_.stop();
  thread_.join();
  alarm_.reset();
}

template <typename Work>
void PollThread::guarded(Work&& work) noexcept {
  try {
    work();
  } catch (const std::exception& error) {
    onException_(error.what());
  } catch (...) {
    onException_("an exception that is no std::exception");
  }
}

// What is thrown ends one handler, and neither the thread nor the process.
void PollThread::serve() noexcept {
  while (!context_.stopped()) {
    guarded([this] { context_.run(); });
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
    // What could not be done now, for want of memory or of the disk, is tried at the next turn.
    guarded([&] { goesOn = work_(); });
    armed_ = goesOn;
    if (goesOn) {
      wait();
    }
  });
}

}  // namespace ackbox::manager
