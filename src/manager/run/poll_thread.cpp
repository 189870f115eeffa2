#include "manager/run/poll_thread.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::manager {

PollThread::PollThread(Clock& clock, std::chrono::milliseconds interval, std::function<bool()> work,
                       OnException onException)
    : clock_(clock),
      interval_(interval),
      work_(std::move(work)),
      onException_(std::move(onException)),
      thread_(onException_),
      alarm_(clock.makeAlarm(thread_.executor())) {}

PollThread::~PollThread() {
  thread_.end();
}

void PollThread::arm() {
  boost::asio::post(thread_.executor(), [this] {
    if (!armed_) {
      wait();
    }
  });
}

void PollThread::wait() {
  alarm_->set(clock_.steadyNow() + interval_, [this] {
    armed_ = false;
    bool goesOn = true;
    // Work that fails now, because of memory or the disk, is tried again at the next turn.
    reportingThrown(onException_, [&] { goesOn = work_(); });
    if (goesOn) {
      wait();
    }
  });
  armed_ = true;
}

}  // namespace ackbox::manager
