#include "transport/mailbox_frames.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "base/mutex.hpp"
#include "protocol/wire.hpp"

namespace ackbox::transport {

using protocol::MailboxAction;
using protocol::MailboxFrame;
using protocol::MailboxVerdict;

namespace {

using std::chrono::milliseconds;

// The first of these pauses is as long as a quick handler of a deferred frame takes.
constexpr milliseconds kAgainLeast{100};
constexpr milliseconds kAgainMost{5'000};
constexpr milliseconds kRefusedLeast{1'000};
constexpr milliseconds kRefusedMost{60'000};

}  // namespace

/// Brings the handler's answers, which come on any thread and at any time, to the strand until it is closed. Then it no
/// longer refers to the executor: a handler may keep an answer's function for longer than the executor's context lives.
class MailboxGate {
public:
  explicit MailboxGate(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  template <typename Task>
  void post(Task task) ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (executor_) {
      boost::asio::post(executor_, std::move(task));
    }
  }

  void close() ACKBOX_EXCLUDES(mutex_) {
    boost::asio::any_io_executor ended;
    const MutexLock lock(mutex_);
    ended = std::move(executor_);
    executor_ = {};
  }

private:
  Mutex mutex_;
  // Empty once it is closed.
  boost::asio::any_io_executor executor_ ACKBOX_GUARDED_BY(mutex_);
};

MailboxFrames::MailboxFrames(const boost::asio::any_io_executor& executor, Means means)
    : executor_(executor), means_(std::move(means)), gate_(std::make_shared<MailboxGate>(executor)) {}

bool MailboxFrames::add(std::uint64_t stream, MailboxFrame frame) {
  const auto isOfStream = [stream](const auto& one) { return one.second.stream == stream; };
  if (std::cmp_greater_equal(std::ranges::count_if(frames_, isOfStream), means_.window)) {
    return false;
  }
  const std::uint64_t number = ++lastNumber_;
  frames_.emplace(number, Entry{.stream = stream,
                                .frame = std::move(frame),
                                .again = MailboxPause(kAgainLeast, kAgainMost),
                                .refused = MailboxPause(kRefusedLeast, kRefusedMost),
                                .alarm = nullptr});
  handIn(number);
  return true;
}

std::size_t MailboxFrames::refusedInHand() const {
  return static_cast<std::size_t>(std::ranges::count_if(frames_, [](const auto& one) { return one.second.isRefused; }));
}

void MailboxFrames::setStream(std::uint64_t stream) {
  stream_ = stream;
  std::erase_if(frames_, [stream](const auto& one) { return one.second.isWaiting && one.second.stream != stream; });
}

void MailboxFrames::close() {
  frames_.clear();
}

void MailboxFrames::closeGate() {
  gate_->close();
}

void MailboxFrames::handIn(std::uint64_t number) {
  const std::shared_ptr<protocol::InboundPort> handler = means_.handler.lock();
  if (!handler) {
    onAnswer(number, protocol::unavailable(false, "The handler has ended."));
    return;
  }
  InboundRequest request = protocol::requestOf(frames_.at(number).frame);
  try {
    handler->handle(
        std::move(request),
        [weak = weak_from_this(), gate = gate_, number](InboundResponse response) {
          gate->post([weak, number, response = std::move(response)] {
            if (const auto self = weak.lock()) {
              self->onAnswer(number, response);
            }
          });
        },
        protocol::HandlerThread::store, protocol::RequestForm::cloudEvents);
  } catch (const std::exception&) {
    onAnswer(number, protocol::unavailable(false, "The handler could not take the request."));
  }
}

void MailboxFrames::onAnswer(std::uint64_t number, const InboundResponse& response) {
  const auto found = frames_.find(number);
  if (found == frames_.end()) {
    return;
  }
  const MailboxVerdict verdict = protocol::verdictOf(found->second.frame, response);
  if (verdict.action != MailboxAction::settle && found->second.stream != stream_) {
    frames_.erase(found);
    return;
  }
  found->second.isRefused = verdict.action == MailboxAction::refused;
  switch (verdict.action) {
    case MailboxAction::settle:
      settle(number, verdict.settlement);
      break;
    case MailboxAction::again:
      wait(number, found->second.again.next(*means_.random, verdict.pause));
      break;
    case MailboxAction::follow:
      protocol::follow(found->second.frame, verdict.accepted);
      handIn(number);
      break;
    case MailboxAction::refused:
      onRefusal(number, verdict);
      break;
  }
}

// It is held, because a settlement would charge it, and in the end make a dead letter of it. But frames of one sender
// that is not configured must not fill the window.
void MailboxFrames::onRefusal(std::uint64_t number, const MailboxVerdict& verdict) {
  Entry& entry = frames_.at(number);
  means_.onRefused(entry.frame, verdict.what);
  if (refusedInHand() > std::max<std::size_t>(means_.window / 2, 1)) {
    settle(number, protocol::retrySettlement(verdict.what, kRefusedMost));
    return;
  }
  wait(number, entry.refused.next(*means_.random, verdict.pause));
}

void MailboxFrames::settle(std::uint64_t number, const std::string& settlement) {
  const auto entry = frames_.extract(number);
  means_.onOutcome(entry.mapped().stream, protocol::settlementOf(entry.mapped().frame.receipt, settlement));
}

void MailboxFrames::wait(std::uint64_t number, milliseconds pause) {
  Entry& entry = frames_.at(number);
  if (!entry.alarm) {
    entry.alarm = means_.clock->makeAlarm(executor_);
  }
  entry.isWaiting = true;
  entry.alarm->set(means_.clock->steadyNow() + pause, [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) {
      self->onPauseOver(number);
    }
  });
}

void MailboxFrames::onPauseOver(std::uint64_t number) {
  if (const auto found = frames_.find(number); found != frames_.end()) {
    found->second.isWaiting = false;
    handIn(number);
  }
}

}  // namespace ackbox::transport
