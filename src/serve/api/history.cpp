#include "serve/api/history.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::serve {
namespace {

constexpr std::chrono::minutes kMinute{1};
constexpr std::chrono::hours kHour{1};
constexpr std::size_t kMinutesKept = 24 * 60;
constexpr std::size_t kHoursKept = 7 * 24;

// A restored file has smaller totals.
std::uint64_t grownBy(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

template <typename Unit>
void add(std::deque<HistorySpan>& spans, HistorySpan span, Unit /*unit*/, std::size_t kept) {
  span.from = std::chrono::floor<Unit>(span.from);
  if (spans.empty() || spans.back().from != span.from) {
    spans.push_back(span);
    if (spans.size() > kept) {
      spans.pop_front();
    }
    return;
  }
  HistorySpan& last = spans.back();
  last.enqueued += span.enqueued;
  last.acked += span.acked;
  last.failed += span.failed;
  last.received += span.received;
  last.pending = span.pending;
}

}  // namespace

History::History(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                 std::function<void(Done)> read)
    : executor_(executor), clock_(std::move(clock)), read_(std::move(read)), alarm_(clock_->makeAlarm(executor)) {}

void History::start() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->look(); });
}

void History::stop() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->isStopped_ = true;
    self->alarm_->cancel();
  });
}

void History::look() {
  if (isStopped_) {
    return;
  }
  read_([self = shared_from_this()](const Stats& stats) { self->note(self->clock_->wallNow(), stats); });
  alarm_->set(clock_->steadyNow() + kMinute, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->look();
    }
  });
}

void History::note(WallTime now, const Stats& stats) {
  const MutexLock lock(mutex_);
  if (last_) {
    const HistorySpan span{lastAt_,
                           grownBy(last_->enqueued, stats.enqueued),
                           grownBy(last_->acked, stats.acked),
                           grownBy(last_->failedTotal, stats.failedTotal),
                           grownBy(last_->received, stats.received),
                           stats.pending};
    add(minutes_, span, kMinute, kMinutesKept);
    add(hours_, span, kHour, kHoursKept);
  }
  last_ = stats;
  lastAt_ = now;
}

std::vector<HistorySpan> History::day() const {
  const MutexLock lock(mutex_);
  return {minutes_.begin(), minutes_.end()};
}

std::vector<HistorySpan> History::week() const {
  const MutexLock lock(mutex_);
  return {hours_.begin(), hours_.end()};
}

}  // namespace ackbox::serve
