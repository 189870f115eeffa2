#include "manager/facade/room_waiters.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "base/exception_report.hpp"

namespace ackbox::manager {
namespace {

// The most waiters tried in one transaction, so that other jobs get a turn.
constexpr std::size_t kTriedMax = 100;

}  // namespace

RoomWaiters::RoomWaiters(store::Writer& writer, const OutboxOptions& options, OnException onException)
    : writer_(writer), options_(options), onException_(std::move(onException)), attempt_(*this) {}

RoomWaiters::~RoomWaiters() = default;

void RoomWaiters::enqueue(Frame frame, Handler handler) {
  EnqueueReceipt refusal{EnqueueStatus::queueFull, frame.id, 0, {}};
  std::error_code error;
  bool attempt = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) {
      error = make_error_code(Errc::stopped);
    } else if (options_.maxPendingBytes != 0 && frame.data.size() > options_.maxPendingBytes) {
      refusal.detail = "maxPendingBytes = " + std::to_string(options_.maxPendingBytes) +
                       " never has room for it: make the frame smaller";
    } else if (waiting_.size() >= options_.maxWaiting) {
      refusal.detail =
          "maxWaiting = " + std::to_string(options_.maxWaiting) + " enqueues wait for room already: try again later";
    } else {
      waiting_.push_back(std::make_unique<Waiter>(Waiter{std::move(frame), std::move(handler)}));
      // Behind a refused waiter, no other is tried before there is room.
      attempt = !refusedAt_ && beginAttempt();
      handler = nullptr;
    }
  }
  if (handler) {
    handler(error, error ? EnqueueReceipt{} : std::move(refusal));
  } else if (attempt) {
    writer_.submit(attempt_);
  }
}

bool RoomWaiters::beginAttempt() {
  return !waiting_.empty() && !closed_ && !std::exchange(attemptUnderWay_, true);
}

void RoomWaiters::run(store::Store& store) {
  std::vector<Waiter*> tried;
  {
    const MutexLock lock(mutex_);
    // Waiters that came since a failed run join; none has left.
    tried_ = std::min(waiting_.size(), kTriedMax);
    for (std::size_t index = 0; index < tried_; ++index) {
      tried.push_back(waiting_[index].get());
    }
    refusedAt_.reset();
    failedAt_.reset();
  }
  receipts_.clear();
  for (const Waiter* waiter : tried) {
    EnqueueReceipt receipt;
    try {
      receipt = store.outbox().enqueue(waiter->frame);
    } catch (...) {
      const MutexLock lock(mutex_);
      failedAt_ = receipts_.size();
      throw;
    }
    if (receipt.status == EnqueueStatus::queueFull) {
      const MutexLock lock(mutex_);
      refusedAt_ = store.fill();
      return;
    }
    receipts_.push_back(std::move(receipt));
  }
}

void RoomWaiters::done(const std::error_code& error) noexcept {
  std::vector<Answer> answers;
  bool again = false;
  {
    const MutexLock lock(mutex_);
    // A transaction that did not even begin has tried no waiter. The waiters that it would have tried get its error, as
    // any other enqueue would. Immediate retries would repeat for as long as the disk fails. A lock of one waiter's
    // session is not the others' failure.
    const std::size_t failed = tried_ > 0 ? tried_ : std::min(waiting_.size(), kTriedMax);
    std::size_t answered = error ? failed : receipts_.size();
    if (const std::optional<std::size_t> place = std::exchange(failedAt_, {}); place && error == Errc::databaseBusy) {
      const auto locked = waiting_.begin() + static_cast<std::ptrdiff_t>(*place);
      answers.push_back({std::move((*locked)->handler), error, {}});
      waiting_.erase(locked);
      --tried_;
      answered = 0;
    }
    for (std::size_t index = 0; index < answered; ++index) {
      answers.push_back(
          {std::move(waiting_.front()->handler), error, error ? EnqueueReceipt{} : std::move(receipts_[index])});
      waiting_.pop_front();
    }
    if (std::exchange(cancelTried_, false)) {
      // The waiters behind these came after the cancellation, and keep waiting.
      for (std::size_t index = answered; index < tried_; ++index) {
        answers.push_back({std::move(waiting_.front()->handler), make_error_code(Errc::stopped), {}});
        waiting_.pop_front();
      }
      refusedAt_.reset();
    }
    tried_ = 0;
    attemptUnderWay_ = false;
    if (waiting_.empty() || error) {
      refusedAt_.reset();
    }
    again = !refusedAt_ && beginAttempt();
    if (refusedAt_ && !closed_ && !options_.storeExecutor) {
      if (!poll_) {
        poll_ = makePoll();
      }
      if (poll_) {
        poll_->arm();
      }
    }
  }
  callHandlers(std::move(answers));
  if (again) {
    writer_.submit(attempt_);
  }
}

// Settlements of other processes cause no commit here.
std::unique_ptr<PollThread> RoomWaiters::makePoll() noexcept {
  const auto look = [this] {
    bool attempt = false;
    bool goOn = false;
    {
      const MutexLock held(mutex_);
      goOn = !waiting_.empty() && !closed_;
      attempt = beginAttempt();
    }
    if (attempt) {
      writer_.submit(attempt_);
    }
    return goOn;
  };
  // Without a thread, the next attempt that is refused tries to begin one again.
  std::unique_ptr<PollThread> made;
  reportingThrown(onException_, [&] {
    made = std::make_unique<PollThread>(*options_.clock, options_.pollInterval, look, onException_);
  });
  return made;
}

void RoomWaiters::committed(store::Store& store) noexcept {
  bool attempt = false;
  {
    const MutexLock lock(mutex_);
    if (!refusedAt_) {
      return;
    }
    try {
      const store::Fill fill = store.fill();
      attempt = (fill.rows < refusedAt_->rows || fill.bytes < refusedAt_->bytes) && beginAttempt();
    } catch (const std::exception&) {
      // The poll tries again.
    }
  }
  if (attempt) {
    writer_.submit(attempt_);
  }
}

std::vector<RoomWaiters::Answer> RoomWaiters::takeFrom(std::size_t first, const std::error_code& error) {
  std::vector<Answer> taken;
  for (std::size_t index = first; index < waiting_.size(); ++index) {
    taken.push_back({std::move(waiting_[index]->handler), error, {}});
  }
  waiting_.resize(first);
  return taken;
}

void RoomWaiters::cancel() noexcept {
  std::vector<Answer> cancelled;
  {
    const MutexLock lock(mutex_);
    // The attempt answers the waiters that it tries, because it may have stored their frames.
    cancelTried_ = tried_ > 0;
    cancelled = takeFrom(tried_, make_error_code(Errc::stopped));
    if (waiting_.empty()) {
      refusedAt_.reset();
    }
  }
  callHandlers(std::move(cancelled));
}

void RoomWaiters::close() noexcept {
  std::unique_ptr<PollThread> ended;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    ended = std::move(poll_);
  }
  ended.reset();
  cancel();
}

void RoomWaiters::callHandlers(std::vector<Answer> answers) noexcept {
  for (Answer& answer : answers) {
    answer.handler(answer.error, std::move(answer.receipt));
  }
}

}  // namespace ackbox::manager
