#include "serve/api/message_waits.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "serve/http/places.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kRememberedResultsMost = 4'096;
constexpr std::size_t kRememberedBytesMost = std::size_t{4} * 1024 * 1024;

}  // namespace

MessageWaits::MessageWaits(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::size_t waitsMax)
    : executor_(std::move(executor)), clock_(std::move(clock)), waitsMax_(waitsMax) {}

void MessageWaits::watch(OutboxManager& manager) {
  const auto post = [weak = weak_from_this(), executor = executor_](const std::string& messageId, MessageEnd end) {
    boost::asio::post(executor, [weak, messageId, end = std::move(end)] {
      if (const auto self = weak.lock()) {
        self->ended(messageId, end);
      }
    });
  };
  subscriptions_.push_back(manager.onAcked([post, weak = weak_from_this()](const AckedEvent& event) {
    if (const auto self = weak.lock(); self && !event.result.empty()) {
      self->remember(event.messageId, event.result);
    }
    post(event.messageId, MessageEnd{.result = event.result});
  }));
  subscriptions_.push_back(manager.onFailed([post](const FailedEvent& event) {
    post(event.messageId, MessageEnd{.isFailed = true, .reason = event.reason, .error = event.error});
  }));
}

bool MessageWaits::mayWait(const std::string& sharer) const {
  const auto own = std::ranges::count_if(waits_, [&](const auto& wait) { return wait.second.sharer == sharer; });
  return !closed_ && mayTakePlace(waitsMax_, waits_.size(), sharer, static_cast<std::size_t>(own));
}

std::uint64_t MessageWaits::add(const std::string& messageId, std::chrono::milliseconds time, const std::string& sharer,
                                Done done) {
  const std::uint64_t number = ++lastNumber_;
  boost::asio::post(executor_,
                    [self = shared_from_this(), number, messageId, time, sharer, done = std::move(done)]() mutable {
                      if (!self->mayWait(sharer)) {
                        done({.isRefused = true});
                        return;
                      }
                      Wait wait{messageId, sharer, std::move(done), self->clock_->makeAlarm(self->executor_)};
                      wait.alarm->set(self->clock_->steadyNow() + time, [weak = self->weak_from_this(), number] {
                        if (const auto waits = weak.lock()) {
                          waits->finish(number, std::nullopt);
                        }
                      });
                      self->waits_.emplace(number, std::move(wait));
                      self->byMessage_.emplace(messageId, number);
                    });
  return number;
}

void MessageWaits::cancel(std::uint64_t number) {
  boost::asio::post(executor_, [self = shared_from_this(), number] {
    if (const auto found = self->waits_.find(number); found != self->waits_.end()) {
      found->second.done = [](const WaitEnd&) {};
      self->finish(number, std::nullopt);
    }
  });
}

void MessageWaits::remember(const std::string& messageId, const std::string& result) {
  const MutexLock lock(mutex_);
  if (!results_.emplace(messageId, result).second) {
    return;
  }
  remembered_.push_back(messageId);
  resultBytes_ += result.size();
  while (remembered_.size() > kRememberedResultsMost ||
         (resultBytes_ > kRememberedBytesMost && remembered_.size() > 1)) {
    const auto oldest = results_.find(remembered_.front());
    resultBytes_ -= oldest->second.size();
    results_.erase(oldest);
    remembered_.pop_front();
  }
}

std::optional<std::string> MessageWaits::resultOf(const std::string& messageId) const {
  const MutexLock lock(mutex_);
  const auto found = results_.find(messageId);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

void MessageWaits::close() {
  subscriptions_.clear();
  std::promise<void> closed;
  boost::asio::post(executor_, [this, &closed] {
    closed_ = true;
    while (!waits_.empty()) {
      finish(waits_.begin()->first, std::nullopt);
    }
    closed.set_value();
  });
  closed.get_future().wait();
}

void MessageWaits::ended(const std::string& messageId, const MessageEnd& end) {
  while (true) {
    const auto found = byMessage_.find(messageId);
    if (found == byMessage_.end()) {
      return;
    }
    finish(found->second, end);
  }
}

void MessageWaits::finish(std::uint64_t number, std::optional<MessageEnd> end) {
  auto found = waits_.extract(number);
  if (!found) {
    return;
  }
  const auto [first, last] = byMessage_.equal_range(found.mapped().messageId);
  for (auto one = first; one != last; ++one) {
    if (one->second == number) {
      byMessage_.erase(one);
      break;
    }
  }
  found.mapped().done({.message = std::move(end)});
}

}  // namespace ackbox::serve
