#include "ackbox/inbound_handler.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "manager/core.hpp"
#include "manager/inbound_job.hpp"
#include "manager/inbound_runner.hpp"
#include "protocol/wire.hpp"

namespace ackbox {
namespace {

// More than all attributes of a frame can need.
constexpr std::size_t kEnvelopeBytes = 4096;

void require(bool holds, const char* field) {
  if (!holds) {
    throw Error(Errc::invalidOption, std::string("InboundOptions::") + field);
  }
}

void validateInbound(const InboundOptions& options) {
  require(options.batchFramesMax >= 1 && options.batchFramesMax <= 256, "batchFramesMax: 1 to 256");
  require(options.frameBytesMax >= 1, "frameBytesMax: at least 1");
  require(options.bodyBytesMax >= options.frameBytesMax + kEnvelopeBytes,
          "bodyBytesMax: at least frameBytesMax and 4 KiB for what surrounds the data");
  require(options.depthMax >= 2 && options.depthMax <= 1000, "depthMax: 2 to 1000");
  require(options.processedRetention.count() > 0, "processedRetention: more than 0");
  require(options.processedRetentionMax >= options.processedRetention,
          "processedRetentionMax: at least processedRetention");
  const DeferredOptions& deferred = options.deferred;
  require(deferred.concurrency >= 1 && deferred.concurrency <= 256, "deferred.concurrency: 1 to 256");
  require(deferred.timeout.count() >= 1, "deferred.timeout: at least 1 ms");
  require(!deferred.retry.delays.empty(), "deferred.retry.delays: at least one delay");
  require(deferred.framesMax >= 1, "deferred.framesMax: at least 1");
}

}  // namespace

class InboundHandler::Body {
public:
  Body(std::shared_ptr<manager::Core> core, FrameHandler handler, InboundOptions options)
      : core_(std::move(core)), handler_(std::move(handler)), options_(std::move(options)) {
    if (options_.deferred.handler) {
      runner_ = std::make_shared<manager::InboundRunner>(core_, handler_, options_);
      runner_->begin();
    }
  }

  // Jobs under way use this object.
  ~Body() {
    while (core_->writer().help()) {
    }
    {
      std::unique_lock lock(mutex_);
      idle_.wait(lock, [this] { return underWay_ == 0; });
    }
    if (runner_) {
      runner_->close();
    }
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void handle(InboundRequest request, std::function<void(InboundResponse)> respond) {
    protocol::DecodedRequest decoded = protocol::decodeRequest(request, options_);
    if (decoded.problem) {
      respond(std::move(*decoded.problem));
      return;
    }
    auto job = std::make_unique<manager::InboundJob>(context(), std::move(request), std::move(decoded),
                                                     std::move(respond), [this] { ended(); });
    {
      const std::scoped_lock lock(mutex_);
      ++underWay_;
    }
    core_->writer().submit(*job.release());
  }

  [[nodiscard]] const InboundOptions& options() const noexcept { return options_; }

private:
  [[nodiscard]] manager::InboundJob::Context context() {
    return {core_->options(), handler_, options_,
            [this](const store::Store::LaterWord& told, const FrameResult& word) { core_->laterWord(told, word); },
            [this] {
              if (runner_) {
                runner_->poke();
              }
            }};
  }

  void ended() {
    const std::scoped_lock lock(mutex_);
    --underWay_;
    idle_.notify_all();
  }

  const std::shared_ptr<manager::Core> core_;
  const FrameHandler handler_;
  const InboundOptions options_;
  // Null when no handler of this process defers.
  std::shared_ptr<manager::InboundRunner> runner_;

  std::mutex mutex_;
  std::condition_variable idle_;
  // Guarded by mutex_.
  std::size_t underWay_ = 0;
};

InboundHandler::InboundHandler(OutboxManager& manager, FrameHandler handler, InboundOptions options) {
  validateInbound(options);
  require(static_cast<bool>(handler), "handler: not empty");
  body_ = std::make_shared<Body>(manager.core_, std::move(handler), std::move(options));
}
InboundHandler::InboundHandler(InboundHandler&&) noexcept = default;
InboundHandler& InboundHandler::operator=(InboundHandler&&) noexcept = default;
InboundHandler::~InboundHandler() = default;

void InboundHandler::asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond) {
  body_->handle(std::move(request), std::move(respond));
}

const InboundOptions& InboundHandler::options() const noexcept {
  return body_->options();
}

}  // namespace ackbox
