#include "ackbox/deferred_frame.hpp"

#include <utility>

#include "manager/inbound/inbound_runner.hpp"

namespace ackbox {

DeferredFrame::Body::~Body() {
  if (const auto alive = runner.lock()) {
    alive->dropped(run);
  }
}

const InboundFrame& DeferredFrame::frame() const noexcept {
  return body_->run->row->frame;
}

std::uint32_t DeferredFrame::retryCount() const noexcept {
  return body_->run->row->retryCount;
}

std::uint32_t DeferredFrame::startCount() const noexcept {
  return body_->run->row->starts;
}

bool DeferredFrame::progress() {
  const auto alive = body_->runner.lock();
  return alive && alive->progress(*body_->run);
}

bool DeferredFrame::stopRequested() const noexcept {
  return body_->run->stopRequested;
}

bool DeferredFrame::commit(DeferredEffects effects, DeferredDone done) {
  const auto alive = body_->runner.lock();
  return alive && alive->complete(body_->run, std::move(effects), std::move(done));
}

bool DeferredFrame::finish(HandlerResult result, DeferredDone done) {
  return commit([answer = std::move(result)](InboundTransaction&) { return answer; }, std::move(done));
}

}  // namespace ackbox
