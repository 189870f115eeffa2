#include "serve/inbox/frame_poll.hpp"

#include <limits>
#include <utility>

namespace ackbox::serve {
namespace {

// Frames that are there come one after the other.
constexpr std::chrono::milliseconds kGathering{20};
constexpr std::size_t kAnswerBytesMost = std::size_t{1024} * 1024;

}  // namespace

FramePoll::FramePoll(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, PollLimits limits,
                     Respond respond)
    : clock_(std::move(clock)), alarm_(clock_->makeAlarm(executor)), limits_(limits), respond_(std::move(respond)) {}

FramePoll::~FramePoll() = default;

void FramePoll::open(InboundResponse head, transport::AnswerWatcher watcher) {
  response_ = std::move(head);
  watcher_ = std::move(watcher);
  setAlarm(limits_.wait, &FramePoll::answer);
}

void FramePoll::send(std::string_view bytes) {
  if (phase_ != Phase::waiting || bytes == "\n") {
    return;
  }
  response_.body += bytes;
  ++count_;
  if (count_ >= limits_.frames || response_.body.size() >= kAnswerBytesMost) {
    answer();
  } else if (count_ == 1) {
    setAlarm(kGathering, &FramePoll::answer);
  }
}

std::size_t FramePoll::unread() const noexcept {
  return phase_ == Phase::waiting ? response_.body.size() : std::numeric_limits<std::size_t>::max();
}

void FramePoll::finish() {
  if (std::exchange(phase_, Phase::over) == Phase::waiting) {
    respond_(std::move(response_));
  }
  alarm_->cancel();
}

void FramePoll::cut() {
  if (phase_ == Phase::waiting) {
    respond_ = {};
    end(transport::AnswerEnd::finished);
  }
}

void FramePoll::setAlarm(std::chrono::milliseconds after, void (FramePoll::*then)()) {
  alarm_->set(clock_->steadyNow() + after, [weak = weak_from_this(), then] {
    if (const auto self = weak.lock()) {
      ((*self).*then)();
    }
  });
}

void FramePoll::answer() {
  if (phase_ != Phase::waiting) {
    return;
  }
  phase_ = Phase::leased;
  respond_(std::move(response_));
  if (count_ == 0) {
    end(transport::AnswerEnd::finished);
  } else {
    setAlarm(limits_.lease, &FramePoll::expire);
  }
}

void FramePoll::end(transport::AnswerEnd how) {
  phase_ = Phase::over;
  alarm_->cancel();
  if (const auto ended = std::exchange(watcher_, {}).ended) {
    ended(how);
  }
}

}  // namespace ackbox::serve
