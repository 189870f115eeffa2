#include "ackbox/deferred_frame.hpp"

#include <utility>

#include "manager/inbound/inbound_runner.hpp"

namespace ackbox {

DeferredFrame::Impl::~Impl() {
  if (const auto alive = runner.lock()) {
    alive->dropped(run);
  }
}

const InboundFrame& DeferredFrame::frame() const noexcept {
  return impl_->run->row->frame;
}

std::uint32_t DeferredFrame::retryCount() const noexcept {
  return impl_->run->row->retryCount;
}

std::uint32_t DeferredFrame::startCount() const noexcept {
  return impl_->run->row->starts;
}

std::uint64_t DeferredFrame::wish() const noexcept {
  return impl_->run->turn.wish;
}

bool DeferredFrame::progress() {
  const auto alive = impl_->runner.lock();
  return alive && alive->progress(*impl_->run);
}

bool DeferredFrame::stopRequested() const noexcept {
  return impl_->run->stopRequested;
}

bool DeferredFrame::commit(DeferredEffects effects, DeferredDone done) {
  const auto alive = impl_->runner.lock();
  return alive && alive->complete(impl_->run, std::move(effects), std::move(done));
}

bool DeferredFrame::finish(HandlerResult result, DeferredDone done) {
  return commit([answer = std::move(result)](InboundTransaction&) { return answer; }, std::move(done));
}

bool DeferredFrame::giveBack(std::string reason, std::chrono::milliseconds pause) {
  const auto alive = impl_->runner.lock();
  return alive && alive->giveBack(impl_->run, std::move(reason), pause);
}

DeferredDemand::DeferredDemand() : impl_(std::make_unique<Impl>()) {}

DeferredDemand::~DeferredDemand() = default;

void DeferredDemand::want(DeferredWish wish) {
  impl_->change({.wish = std::move(wish), .isGone = false});
}

void DeferredDemand::unwant(std::uint64_t id) {
  DeferredWish wish;
  wish.id = id;
  impl_->change({.wish = std::move(wish), .isGone = true});
}

void DeferredDemand::Impl::change(Change change) {
  std::shared_ptr<manager::InboundRunner> runner;
  {
    const MutexLock lock(mutex_);
    if (change.isGone) {
      wishes_.erase(change.wish.id);
    } else {
      wishes_[change.wish.id] = change.wish;
    }
    runner = runner_.lock();
    if (runner) {
      changes_.push_back(std::move(change));
    }
  }
  // Not under the lock: the runner may call back into this object.
  if (runner) {
    runner->onWishes();
  }
}

std::vector<std::string> DeferredDemand::unwantedTypes(std::size_t limit) const {
  return impl_->unwantedTypes(limit);
}

void DeferredDemand::onUnwanted(std::function<void()> call) {
  impl_->setOnUnwanted(std::move(call));
}

std::vector<std::string> DeferredDemand::Impl::unwantedTypes(std::size_t limit) {
  std::shared_ptr<manager::InboundRunner> runner;
  std::size_t pool = 0;
  {
    const MutexLock lock(mutex_);
    runner = runner_.lock();
    pool = pool_;
  }
  // Not under the lock: the lock order is the runner's lock first.
  return runner ? runner->unwantedTypes(pool, limit) : std::vector<std::string>();
}

void DeferredDemand::Impl::setOnUnwanted(std::function<void()> call) {
  const MutexLock lock(mutex_);
  onUnwanted_ = std::move(call);
}

std::function<void()> DeferredDemand::Impl::onUnwanted() {
  const MutexLock lock(mutex_);
  return onUnwanted_;
}

void DeferredDemand::Impl::attach(std::weak_ptr<manager::InboundRunner> runner, std::size_t pool) {
  const MutexLock lock(mutex_);
  runner_ = std::move(runner);
  pool_ = pool;
  changes_.clear();
  for (const auto& [id, wish] : wishes_) {
    changes_.push_back({.wish = wish, .isGone = false});
  }
}

std::vector<DeferredDemand::Impl::Change> DeferredDemand::Impl::takeChanges() {
  const MutexLock lock(mutex_);
  return std::exchange(changes_, {});
}

}  // namespace ackbox
