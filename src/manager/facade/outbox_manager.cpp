#include "ackbox/outbox_manager.hpp"

#include <exception>
#include <utility>

#include "manager/facade/core.hpp"
#include "manager/facade/diagnosis.hpp"
#include "manager/facade/enqueue.hpp"
#include "manager/facade/function_sender.hpp"
#include "manager/facade/jobs.hpp"
#include "store/failure.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox {
namespace {

std::vector<EnqueueReceipt> storeBatch(manager::Core& core, std::span<const Frame> frames) {
  std::vector<EnqueueReceipt> receipts = manager::checkFrames(frames, core.options());
  if (manager::nothingToStore(receipts)) {
    return receipts;
  }
  try {
    receipts = manager::commitBlocking(core.writer(), true, manager::FramesToStore{frames, receipts});
  } catch (const Error& error) {
    core.storeAnswered();
    throw;
  }
  core.storeAnswered();
  return receipts;
}

std::vector<EnqueueReceipt> storeTraced(manager::Core& core, std::span<const Frame> frames) {
  const manager::Tracer& tracer = core.tracer();
  std::vector<Frame> traced(frames.begin(), frames.end());
  std::vector<manager::Tracer::Span> spans;
  spans.reserve(traced.size());
  for (Frame& frame : traced) {
    spans.push_back(tracer.enqueueBegan(frame));
  }
  try {
    std::vector<EnqueueReceipt> receipts = storeBatch(core, traced);
    for (std::size_t index = 0; index < spans.size(); ++index) {
      tracer.enqueueEnded(spans[index], {}, receipts[index]);
    }
    return receipts;
  } catch (...) {
    const std::error_code error = store::errorOf(std::current_exception());
    for (const manager::Tracer::Span& span : spans) {
      tracer.enqueueEnded(span, error, {});
    }
    throw;
  }
}

}  // namespace

OutboxManager OutboxManager::open(const std::filesystem::path& file, OutboxOptions options) {
  return OutboxManager(manager::makeCore(
      file.native(), [&file] { return store::sqlite::placeOf(file); }, std::move(options)));
}

OutboxManager::OutboxManager(std::shared_ptr<manager::Core> core) : core_(std::move(core)) {}
OutboxManager::OutboxManager(OutboxManager&&) noexcept = default;

OutboxManager& OutboxManager::operator=(OutboxManager&& other) noexcept {
  if (this != &other) {
    OutboxManager ending(std::move(*this));
    core_ = std::move(other.core_);
  }
  return *this;
}

OutboxManager::~OutboxManager() {
  if (core_ && core_->home().isHere()) {
    core_->stop();
  }
}

EnqueueReceipt OutboxManager::enqueue(Frame frame) {
  return std::move(enqueueBatch(std::span<const Frame>(&frame, 1)).front());
}

EnqueueReceipt OutboxManager::enqueue(std::string session, std::string type, std::string data) {
  Frame frame;
  const auto& peers = manager::here(core_).options().peers;
  frame.peer = peers.size() == 1 ? peers.front().name : "default";
  frame.session = std::move(session);
  frame.type = std::move(type);
  frame.data = std::move(data);
  return enqueue(std::move(frame));
}

std::vector<EnqueueReceipt> OutboxManager::enqueueBatch(std::span<const Frame> frames) {
  manager::Core& core = manager::here(core_);
  return core.tracer().isOn() ? storeTraced(core, frames) : storeBatch(core, frames);
}

void OutboxManager::enqueueThen(Frame frame, std::function<void(std::error_code, EnqueueReceipt)> handler) {
  enqueueThen(std::move(frame), WhenFull::refuse, std::move(handler));
}

void OutboxManager::enqueueThen(Frame frame, WhenFull whenFull,
                                std::function<void(std::error_code, EnqueueReceipt)> handler) {
  if (const manager::Tracer& tracer = manager::here(core_).tracer(); tracer.isOn()) {
    manager::Tracer::Span span = tracer.enqueueBegan(frame);
    handler = [&tracer, span = std::move(span), call = std::move(handler)](const std::error_code& error,
                                                                           EnqueueReceipt receipt) {
      tracer.enqueueEnded(span, error, receipt);
      call(error, std::move(receipt));
    };
  }
  EnqueueReceipt refusal = manager::checkFrame(frame, manager::here(core_).options());
  if (!refusal.accepted()) {
    handler({}, std::move(refusal));
    return;
  }
  manager::Core& core = manager::here(core_);
  auto answered = [&core, call = std::move(handler)](const std::error_code& error, EnqueueReceipt receipt) {
    // An enqueue that was refused because of the waiting ones did not reach the store.
    if (error || receipt.accepted()) {
      core.storeAnswered();
    }
    call(error, std::move(receipt));
  };
  if (whenFull == WhenFull::wait) {
    core.waiters().enqueue(std::move(frame), std::move(answered));
    return;
  }
  manager::commitDetached(core.writer(), true, manager::FrameToStore{std::move(frame)}, std::move(answered));
}

PublishReceipt OutboxManager::publish(const Frame& frame) {
  manager::Core& core = manager::here(core_);
  return core.tracer().aroundPublish(frame, [&core](const Frame& one) {
    PublishReceipt refusal = manager::checkPublished(one, core.options());
    if (!refusal.accepted()) {
      return refusal;
    }
    try {
      PublishReceipt receipt = manager::commitBlocking(core.writer(), true, manager::FrameToPublish(one));
      core.storeAnswered();
      return receipt;
    } catch (const Error& error) {
      core.storeAnswered();
      throw;
    }
  });
}

void OutboxManager::publishThen(Frame frame, std::function<void(std::error_code, PublishReceipt)> handler) {
  manager::Core& core = manager::here(core_);
  if (const manager::Tracer& tracer = core.tracer(); tracer.isOn()) {
    frame.peer = kAllSubscribers;
    manager::Tracer::Span span = tracer.enqueueBegan(frame);
    handler = [&tracer, span = std::move(span), call = std::move(handler)](const std::error_code& error,
                                                                           PublishReceipt receipt) {
      tracer.publishEnded(span, error, receipt);
      call(error, std::move(receipt));
    };
  }
  PublishReceipt refusal = manager::checkPublished(frame, core.options());
  if (!refusal.accepted()) {
    handler({}, std::move(refusal));
    return;
  }
  manager::commitDetached(core.writer(), true, manager::FrameToPublish(std::move(frame)),
                          [&core, call = std::move(handler)](const std::error_code& error, PublishReceipt receipt) {
                            core.storeAnswered();
                            call(error, std::move(receipt));
                          });
}

bool OutboxManager::ack(std::string_view messageId) {
  return manager::here(core_).ack(messageId);
}

std::optional<MessageInfo> OutboxManager::find(std::string_view messageId) const {
  return manager::here(core_).reader().find(messageId);
}

Stats OutboxManager::getStats() const {
  return manager::here(core_).stats();
}

std::optional<Explanation> OutboxManager::explain(std::string_view messageId) const {
  return manager::explain(manager::here(core_), messageId);
}

void OutboxManager::setSender(std::shared_ptr<Sender> sender) {
  manager::here(core_).setSender(std::move(sender));
}

void OutboxManager::setSendFunction(SendFunction function) {
  manager::here(core_).setSender(manager::makeFunctionSender(std::move(function)));
}

void OutboxManager::start() {
  manager::here(core_).start();
}

StopReport OutboxManager::stop() {
  return manager::here(core_).stop();
}

bool OutboxManager::isDelivering() const {
  return manager::here(core_).running();
}

std::string OutboxManager::fileTrouble() const {
  return manager::here(core_).fileTrouble();
}

void OutboxManager::runThen(const boost::asio::any_io_executor& executor,
                            std::function<void(std::error_code)> handler) {
  manager::here(core_).run(executor, std::move(handler));
}

DrainReport OutboxManager::drainOnce() {
  return manager::here(core_).drain(false);
}

DrainReport OutboxManager::processAll() {
  return manager::here(core_).drain(true);
}

void OutboxManager::notify() {
  manager::here(core_).notify();
}

Subscription OutboxManager::onSent(std::function<void(const SentEvent&)> callback) {
  return manager::here(core_).events().sent.add(std::move(callback));
}

Subscription OutboxManager::onAcked(std::function<void(const AckedEvent&)> callback) {
  return manager::here(core_).events().acked.add(std::move(callback));
}

Subscription OutboxManager::onFailed(std::function<void(const FailedEvent&)> callback) {
  return manager::here(core_).events().failed.add(std::move(callback));
}

Subscription OutboxManager::onRetry(std::function<void(const RetryEvent&)> callback) {
  return manager::here(core_).events().retry.add(std::move(callback));
}

Subscription OutboxManager::onSuperseded(std::function<void(const SupersededEvent&)> callback) {
  return manager::here(core_).events().superseded.add(std::move(callback));
}

Subscription OutboxManager::onHealth(std::function<void(const HealthEvent&)> callback) {
  return manager::here(core_).events().health.add(std::move(callback));
}

Subscription OutboxManager::onPeerReset(std::function<void(const PeerResetEvent&)> callback) {
  return manager::here(core_).events().peerReset.add(std::move(callback));
}

Subscription OutboxManager::onPeer(std::function<void(const PeerEvent&)> callback) {
  return manager::here(core_).events().peer.add(std::move(callback));
}

std::string OutboxManager::origin() const {
  return manager::here(core_).origin();
}

}  // namespace ackbox
