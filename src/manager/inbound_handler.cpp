#include "ackbox/inbound_handler.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "manager/core.hpp"
#include "manager/inbound_job.hpp"
#include "manager/inbound_runner.hpp"
#include "manager/peer_registry.hpp"
#include "protocol/problem.hpp"
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
      : core_(std::move(core)),
        handler_(std::move(handler)),
        options_(std::move(options)),
        registry_(options_, core_->options().clock) {
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
    core_->refusals().flush();
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void handle(InboundRequest request, std::function<void(InboundResponse)> respond, HandlerThread thread) {
    // Before its signature is computed over it.
    if (request.body.size() > options_.bodyBytesMax) {
      respond(protocol::bodyTooLarge(options_.bodyBytesMax));
      return;
    }
    // Another version may sign otherwise.
    if (std::optional<InboundResponse> refusal = protocol::versionProblem(request.version)) {
      respond(*std::move(refusal));
      return;
    }
    std::optional<PeerRegistry::Sender> sender = registry_.authenticate(request);
    if (!sender) {
      refuseUnauthenticated(respond);
      return;
    }
    if (sender->keys && sender->keys->canSign()) {
      respond = signing(std::move(respond), std::move(sender->keys), request.webhookId);
    }
    protocol::DecodedRequest decoded = protocol::decodeRequest(request, options_);
    if (decoded.problem) {
      respond(std::move(*decoded.problem));
      return;
    }
    PeerRegistry::attribute(*sender, request, decoded);
    if (!mayGoOn(*sender, decoded, respond)) {
      return;
    }
    const bool mayRunHere = thread == HandlerThread::caller && decoded.frames.size() == 1;
    auto job = std::make_unique<manager::InboundJob>(context(), std::move(request), std::move(decoded),
                                                     std::move(respond), [this] { ended(); });
    {
      const std::scoped_lock lock(mutex_);
      ++underWay_;
    }
    manager::InboundJob& submitted = *job.release();
    if (!mayRunHere || !core_->writer().commitHere(submitted, store::WhenLocked::leave)) {
      core_->writer().submit(submitted);
    }
  }

  [[nodiscard]] const InboundOptions& options() const noexcept { return options_; }

private:
  using PeerRegistry = manager::PeerRegistry;
  using Respond = std::function<void(InboundResponse)>;

  [[nodiscard]] manager::InboundJob::Context context() {
    return {core_->options(), handler_, options_,
            [this](const store::Store::LaterWord& told, const FrameResult& word) { core_->laterWord(told, word); },
            [this] {
              if (runner_) {
                runner_->poke();
              }
            }};
  }

  /// Answers in the peer's form: signed under an id that no request has.
  [[nodiscard]] Respond signing(Respond respond, std::shared_ptr<const protocol::KeyRing> keys,
                                std::string_view webhookId) const {
    return [respond = std::move(respond), keys = std::move(keys), clock = core_->options().clock,
            id = std::string(protocol::kAnswerIdPrefix).append(webhookId)](InboundResponse response) {
      protocol::SignatureHeaders headers = keys->sign(id, response.body, clock->wallNow());
      response.headers.emplace_back("webhook-id", std::move(headers.id));
      response.headers.emplace_back("webhook-timestamp", std::move(headers.timestamp));
      response.headers.emplace_back("webhook-signature", std::move(headers.signature));
      respond(std::move(response));
    };
  }

  // The same words whatever was wrong: who may not come in learns nothing.
  void refuseUnauthenticated(const Respond& respond) {
    core_->refusals().add({.unauthenticated = 1});
    InboundResponse response = protocol::problem(401, "Unauthorized", "");
    response.headers.emplace_back("www-authenticate", "StandardWebhooks");
    respond(std::move(response));
  }

  bool mayGoOn(const PeerRegistry::Sender& sender, protocol::DecodedRequest& decoded, const Respond& respond) {
    std::size_t refusedFrames = 0;
    const PeerRegistry::Verdict verdict = registry_.authorise(sender, decoded, refusedFrames);
    if (refusedFrames > 0) {
      core_->refusals().add({.forbidden = refusedFrames});
    }
    switch (verdict) {
      case PeerRegistry::Verdict::allowed:
        return true;
      case PeerRegistry::Verdict::unauthenticated:
        refuseUnauthenticated(respond);
        return false;
      case PeerRegistry::Verdict::forbidden:
        break;
    }
    core_->refusals().add({.forbidden = 1});
    respond(protocol::problem(403, "Forbidden", "a frame's source or kind is not for this sender to use"));
    return false;
  }

  void ended() {
    const std::scoped_lock lock(mutex_);
    --underWay_;
    idle_.notify_all();
  }

  const std::shared_ptr<manager::Core> core_;
  const FrameHandler handler_;
  const InboundOptions options_;
  const PeerRegistry registry_;
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

void InboundHandler::asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond,
                                 HandlerThread thread) {
  body_->handle(std::move(request), std::move(respond), thread);
}

const InboundOptions& InboundHandler::options() const noexcept {
  return body_->options();
}

}  // namespace ackbox
