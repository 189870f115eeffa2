#include "manager/inbound/refusal_counts.hpp"

#include <boost/asio/post.hpp>
#include <exception>
#include <functional>
#include <utility>

#include "base/own_thread.hpp"
#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

constexpr std::chrono::seconds kBetweenWrites{1};

}  // namespace

/// An alarm and its thread: a manager that does not deliver has no other waiting thread.
class RefusalCounts::Timer {
public:
  Timer(Clock& clock, std::function<void()> wake, OnException onException)
      : thread_(std::move(onException)), alarm_(clock.makeAlarm(thread_.executor())), wake_(std::move(wake)) {}
  // The alarm belongs to the thread as long as the thread runs.
  ~Timer() { thread_.end(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(SteadyTime due) {
    boost::asio::post(thread_.executor(), [this, due] { alarm_->set(due, wake_); });
  }

private:
  OwnThread thread_;
  const std::unique_ptr<Alarm> alarm_;
  const std::function<void()> wake_;
};

RefusalCounts::RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer,
                             OnException onException)
    : writer_(writer),
      clock_(std::move(clock)),
      hasTimer_(hasTimer),
      onException_(std::move(onException)),
      mayWriteAt_(clock_->steadyNow()) {}

RefusalCounts::~RefusalCounts() = default;

void RefusalCounts::close() noexcept {
  // Destroyed after the lock, which the timer's thread may be waiting for.
  std::unique_ptr<Timer> ended;
  const MutexLock lock(mutex_);
  isClosed_ = true;
  ended = std::move(timer_);
}

void RefusalCounts::arm() {
  if (!hasTimer_ || isClosed_ || isArmed_) {
    return;
  }
  try {
    if (!timer_) {
      timer_ = std::make_unique<Timer>(
          *clock_, [this] { wake(); }, [this](const std::string& what) { failed(what); });
    }
    timer_->set(mayWriteAt_);
    isArmed_ = true;
  } catch (const std::exception&) {
    // There is no memory, or no thread: these are written with the next refusals.
  }
}

// On the timer's thread, which `close` waits for.
void RefusalCounts::wake() {
  Values due;
  {
    const MutexLock lock(mutex_);
    isArmed_ = false;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    due = take();
  }
  write(due);
}

// On the timer's thread: the remaining counts are written with the next refusals, which may set the timer again.
void RefusalCounts::failed(const std::string& what) {
  {
    const MutexLock lock(mutex_);
    isArmed_ = false;
  }
  onException_(what);
}

void RefusalCounts::add(const Values& values) {
  Values due;
  {
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
    due = take();
  }
  write(due);
}

RefusalCounts::Values RefusalCounts::unwritten() const {
  const MutexLock lock(mutex_);
  return {left_.unauthenticated + underWay_.unauthenticated, left_.forbidden + underWay_.forbidden};
}

RefusalCounts::Values RefusalCounts::take() {
  underWay_.unauthenticated += left_.unauthenticated;
  underWay_.forbidden += left_.forbidden;
  return std::exchange(left_, {});
}

void RefusalCounts::written(const Values& values, bool isStored) {
  const MutexLock lock(mutex_);
  underWay_.unauthenticated -= values.unauthenticated;
  underWay_.forbidden -= values.forbidden;
  if (!isStored) {
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    arm();
  }
}

// Without the lock: if the writer has no thread of its own, the job runs in this call.
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
