#include "manager/inbound/refusal_counts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <thread>
#include <utility>

#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

constexpr std::chrono::seconds kBetweenWrites{1};

}  // namespace

/// An alarm and the one thread that it runs on: a manager has no other that waits, unless it delivers.
class RefusalCounts::Timer {
public:
  Timer(Clock& clock, std::function<void()> wake)
      : guard_(context_.get_executor()),
        alarm_(clock.makeAlarm(context_.get_executor())),
        wake_(std::move(wake)),
        thread_([this] { run(); }) {}
  ~Timer() {
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(SteadyTime due) {
    boost::asio::post(context_, [this, due] { alarm_->set(due, wake_); });
  }

private:
  // What lacked memory is written with the next refusals.
  void run() noexcept {
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (...) {
      }
    }
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  const std::unique_ptr<Alarm> alarm_;
  const std::function<void()> wake_;
  std::thread thread_;
};

RefusalCounts::RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer)
    : writer_(writer), clock_(std::move(clock)), hasTimer_(hasTimer), mayWriteAt_(clock_->steadyNow()) {}

RefusalCounts::~RefusalCounts() {
  close();
}

void RefusalCounts::close() noexcept {
  std::unique_ptr<Timer> ended;
  {
    const std::scoped_lock lock(mutex_);
    isClosed_ = true;
    ended = std::move(timer_);
  }
  // Without the lock, which the timer's thread may be waiting for.
  ended.reset();
}

// With mutex_ held.
void RefusalCounts::arm() {
  if (!hasTimer_ || isClosed_ || isArmed_) {
    return;
  }
  try {
    if (!timer_) {
      timer_ = std::make_unique<Timer>(*clock_, [this] { wake(); });
    }
    timer_->set(mayWriteAt_);
    isArmed_ = true;
  } catch (const std::exception&) {
    // There is no memory, or no thread: the next refusals write these as well.
  }
}

// On the timer's thread, which `close` waits for.
void RefusalCounts::wake() {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    isArmed_ = false;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    due = take();
  }
  write(due);
}

void RefusalCounts::add(const Values& values) {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    const SteadyTime now = clock_->steadyNow();
    if (now < mayWriteAt_) {
      arm();
      return;
    }
    mayWriteAt_ = now + kBetweenWrites;
    due = take();
  }
  write(due);
}

void RefusalCounts::flush() {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    due = take();
  }
  write(due);
}

RefusalCounts::Values RefusalCounts::unwritten() const {
  const std::scoped_lock lock(mutex_);
  return {left_.unauthenticated + underWay_.unauthenticated, left_.forbidden + underWay_.forbidden};
}

// With mutex_ held.
RefusalCounts::Values RefusalCounts::take() {
  underWay_.unauthenticated += left_.unauthenticated;
  underWay_.forbidden += left_.forbidden;
  return std::exchange(left_, {});
}

void RefusalCounts::written(const Values& values, bool isStored) {
  const std::scoped_lock lock(mutex_);
  underWay_.unauthenticated -= values.unauthenticated;
  underWay_.forbidden -= values.forbidden;
  if (!isStored) {
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    arm();
  }
}

// Without the lock: where the writer has no thread of its own, the job runs in here.
void RefusalCounts::write(const Values& taken) {
  if (taken.unauthenticated == 0 && taken.forbidden == 0) {
    return;
  }
  commitDetached(
      writer_, false,
      [taken](store::Store& store) {
        store.inboundMarks().countRefusals(taken.unauthenticated, taken.forbidden);
        return true;
      },
      [self = shared_from_this(), taken](const std::error_code& error, bool) { self->written(taken, !error); });
}

}  // namespace ackbox::manager
