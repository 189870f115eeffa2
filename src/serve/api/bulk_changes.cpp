#include "serve/api/bulk_changes.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http/answer.hpp"
#include "serve/http/places.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kRemembered = 100;
constexpr std::size_t kRunningMost = 16;

}  // namespace

BulkChanges::BulkChanges(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock)
    : executor_(std::move(executor)), clock_(std::move(clock)) {}

bool BulkChanges::hasRoom(const std::string& sharer) const {
  const MutexLock lock(mutex_);
  std::size_t running = 0;
  std::size_t own = 0;
  for (const auto& [id, change] : changes_) {
    const bool isRunning = change.state == BulkChange::State::running;
    running += isRunning ? 1U : 0U;
    own += isRunning && change.sharer == sharer ? 1U : 0U;
  }
  return mayTakePlace(kRunningMost, running, sharer, own);
}

void BulkChanges::begin(Begun begun, Change change, std::chrono::milliseconds patience, Done done) {
  std::uint64_t id = 0;
  {
    const MutexLock lock(mutex_);
    id = ++lastId_;
    BulkChange& made = changes_[id];
    made.id = id;
    made.what = std::move(begun.what);
    made.caller = std::move(begun.caller);
    made.sharer = begun.sharer;
    waiting_[id] = std::move(done);
    if (changes_.size() > kRemembered) {
      forgetOne();
    }
  }
  boost::asio::post(executor_, [self = shared_from_this(), id, patience] {
    std::unique_ptr<Alarm>& alarm = self->alarms_[id];
    alarm = self->clock_->makeAlarm(self->executor_);
    alarm->set(self->clock_->steadyNow() + patience, [weak = self->weak_from_this(), id] {
      if (const auto changes = weak.lock()) {
        changes->answer(id);
      }
    });
  });
  worker_.run(begun.sharer, [this, id, change = std::move(change)] { run(id, change); });
}

void BulkChanges::run(std::uint64_t id, const Change& change) {
  BulkChange::State state = BulkChange::State::done;
  BulkOutcome outcome;
  std::string error;
  Response problem;
  try {
    {
      const MutexLock lock(mutex_);
      if (isClosing_) {
        throw std::runtime_error("the daemon is being stopped");
      }
    }
    change(outcome);
  } catch (const std::exception& exception) {
    state = BulkChange::State::failed;
    const std::string before = outcome.changed > 0 ? std::to_string(outcome.changed) + " were changed, then: "
                               : outcome.hasMore   ? "some may have been changed, then: "
                                                   : std::string();
    error = before + exception.what();
    problem = exceptionAnswer(before);
  }
  {
    const MutexLock lock(mutex_);
    BulkChange& ended = changes_[id];
    ended.state = state;
    ended.changed = outcome.changed;
    ended.error = std::move(error);
    ended.problem = std::move(problem);
  }
  answer(id);
}

void BulkChanges::forgetOne() {
  std::map<std::string_view, std::vector<std::uint64_t>> ended;
  for (const auto& [id, change] : changes_) {
    // A change is kept until its request was answered.
    if (change.state != BulkChange::State::running && !waiting_.contains(id)) {
      ended[change.sharer].push_back(id);
    }
  }
  const auto most = std::ranges::max_element(ended, {}, [](const auto& ofCaller) { return ofCaller.second.size(); });
  if (most != ended.end()) {
    changes_.erase(most->second.front());
  }
}

void BulkChanges::answer(std::uint64_t id) {
  Done done;
  BulkChange change;
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.extract(id);
    if (!found) {
      return;
    }
    done = std::move(found.mapped());
    change = changes_[id];
  }
  boost::asio::post(executor_, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) {
      self->alarms_.erase(id);
    }
  });
  done(change);
}

std::optional<BulkChange> BulkChanges::find(std::uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto found = changes_.find(id);
  return found == changes_.end() ? std::nullopt : std::optional(found->second);
}

void BulkChanges::close() {
  {
    const MutexLock lock(mutex_);
    isClosing_ = true;
  }
  worker_.join();
}

}  // namespace ackbox::serve
