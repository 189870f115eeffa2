#include "ackbox/inbound_handler.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "base/mutex.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/inbound/inbound_job.hpp"
#include "manager/inbound/inbound_runner.hpp"
#include "manager/inbound/peer_registry.hpp"
#include "manager/inbound/report_limiter.hpp"
#include "protocol/agenium.hpp"
#include "protocol/inbound_options.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox {
namespace {

// The most that is read of a body that cannot be accepted: reading it lets the sender receive the answer.
constexpr std::size_t kUnprovenBodyBytes = 4096;

}  // namespace

class InboundHandler::Impl final : public protocol::InboundPort {
public:
  Impl(std::shared_ptr<manager::Core> core, FrameHandler handler, InboundOptions options)
      : core_(std::move(core)),
        handler_(std::move(handler)),
        options_(std::move(options)),
        tracer_(options_.trace, core_->log()),
        registry_(options_, core_->options().agent, core_->options().clock) {
    if (options_.deferred.handler) {
      runner_ = std::make_shared<manager::InboundRunner>(core_, handler_, options_);
      runner_->begin();
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() override { close(); }

  /// After its return, no code of the application is called. A server may still hold this object; the server and jobs
  /// under way may use it.
  void close() {
    {
      const MutexLock lock(mutex_);
      if (std::exchange(isClosed_, true)) {
        return;
      }
    }
    while (core_->writer().help()) {
    }
    {
      const MutexLock lock(mutex_);
      while (underWay_ != 0) {
        idle_.wait(mutex_);
      }
    }
    if (runner_) {
      runner_->close();
    }
    core_->refusals().flush();
  }

  void handle(InboundRequest request, std::function<void(InboundResponse)> respond, protocol::HandlerThread thread,
              protocol::RequestForm form) override {
    Visit visit(*this);
    if (!visit.isAdmitted()) {
      respond(protocol::unavailable(false, "The handler has ended."));
      return;
    }
    // Before the signature is computed over the body.
    if (request.body.size() > options_.bodyBytesMax) {
      respond(protocol::bodyTooLarge(options_.bodyBytesMax));
      return;
    }
    // Another version may sign differently.
    if (std::optional<InboundResponse> refusal = protocol::versionProblem(request.version)) {
      respond(*std::move(refusal));
      return;
    }
    InboundRefusal refused;
    std::optional<PeerRegistry::Sender> sender = registry_.authenticate(request, refused);
    if (!sender) {
      reportRefusal(refused);
      refuseUnauthenticated(respond);
      return;
    }
    if (sender->peer == nullptr) {
      if (std::optional<InboundResponse> refusal = protocol::anonymousProblem(request)) {
        core_->refusals().add({.forbidden = 1});
        reportRefusal({.reason = RefusalReason::notAllowed, .agent = {}});
        respond(*std::move(refusal));
        return;
      }
    }
    respond = vouching(std::move(respond));
    protocol::DecodedRequest decoded = form == protocol::RequestForm::agenium
                                           ? protocol::decodeAgenium(request, options_)
                                           : protocol::decodeRequest(request, options_);
    if (sender->keys && sender->keys->canSign() && !decoded.isRefusedByHeaders) {
      respond = signing(std::move(respond), std::move(sender->keys), request.webhookId);
    }
    if (decoded.problem) {
      respond(std::move(*decoded.problem));
      return;
    }
    PeerRegistry::attribute(*sender, request, decoded);
    if (!mayGoOn(*sender, request, decoded, respond)) {
      return;
    }
    const bool mayRunHere = thread == protocol::HandlerThread::caller && decoded.frames.size() == 1;
    auto job = std::make_unique<manager::InboundJob>(context(*sender), std::move(request), std::move(decoded),
                                                     std::move(respond), [this] { ended(); });
    visit.passOn();
    manager::InboundJob& submitted = *job.release();
    if (!mayRunHere || !core_->writer().commitHere(submitted, store::WhenLocked::leave)) {
      core_->writer().submit(submitted);
    }
  }

  [[nodiscard]] std::size_t bodyBytesMax() const noexcept override { return options_.bodyBytesMax; }

  [[nodiscard]] std::size_t bodyBytesWorthReading(const InboundRequest& head) const override {
    return registry_.mayProve(head) ? options_.bodyBytesMax : std::min(kUnprovenBodyBytes, options_.bodyBytesMax);
  }

  void usesCertificate(const std::filesystem::path& file) const override { core_->lookAtCertificate(file); }

  void reportException(const std::string& what) noexcept override { core_->reportException(what); }

  [[nodiscard]] const InboundOptions& options() const noexcept { return options_; }
  [[nodiscard]] const HomeProcess& home() const noexcept { return core_->home(); }

private:
  using PeerRegistry = manager::PeerRegistry;
  using Respond = std::function<void(InboundResponse)>;

  /// Keeps `close` waiting until it ends; after it was passed on, until `ended` is called.
  class Visit {
  public:
    explicit Visit(Impl& impl) : impl_(impl.begun() ? &impl : nullptr) {}
    ~Visit() {
      if (impl_ != nullptr) {
        impl_->ended();
      }
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    [[nodiscard]] bool isAdmitted() const noexcept { return impl_ != nullptr; }
    void passOn() noexcept { impl_ = nullptr; }

  private:
    Impl* impl_;
  };

  [[nodiscard]] manager::InboundJob::Context context(const PeerRegistry::Sender& sender) {
    return {
        core_->options(),
        handler_,
        options_,
        tracer_,
        core_->tracer(),
        sender.peer != nullptr,
        PeerRegistry::mailboxesOf(sender),
        [this](const store::AckEventOutcome& outcome, const FrameResult& result) {
          core_->ackEventCommitted(outcome, result);
        },
        [this] {
          if (runner_) {
            runner_->lookForCommits();
          }
        },
        [this](const InboundLimitEvent& event) { reportLimit(event); },
        [this](const InboundFrame& frame, std::string_view why) { manager::reportLeftOut(core_->log(), frame, why); },
        [this](const InboundFrame& frame) { manager::reportCannotDefer(core_->log(), frame); },
        [this] { core_->storeAnswered(); },
        [this](const std::string& agent, const std::string& source) {
          return runner_ ? runner_->mailboxFill(agent, source) : reception::MailboxFill();
        }};
  }

  void reportLimit(const InboundLimitEvent& event) {
    if (!limitReports_.admits({event.source, event.limit}, core_->clock().steadyNow())) {
      return;
    }
    core_->log().write(
        LogLevel::warning, "sender-at-limit",
        event.limit == InboundLimit::mailbox
            ? "a frame was put off, because a mailbox has no room for more of its sender until its agent has fetched "
              "some: see why it does not (ackbox inbox), or raise DeferredMailboxes::mailboxFramesMax"
        : event.limit == InboundLimit::inbox
            ? "a frame was put off, because the inbox has no room for more frames of its sender until "
              "some are done: see why they wait (ackbox inbox), or raise DeferredOptions::framesMax or "
              "bytesMax"
            : "a frame was put off, because its sender is at a limit: raise InboundOptions::limits, or "
              "delete what is not needed any more (ackbox forget)",
        {{"agent", event.source}, {"limit", toString(event.limit)}});
    calling([&] { options_.onLimit(event); }, static_cast<bool>(options_.onLimit));
  }

  void reportRefusal(const InboundRefusal& refusal) {
    if (!refusalReports_.admits({refusal.agent, refusal.reason}, core_->clock().steadyNow())) {
      return;
    }
    core_->log().write(LogLevel::warning, "request-refused", manager::sentenceOf(refusal),
                       {{"agent", refusal.agent},
                        {"reason", toString(refusal.reason)},
                        {"skew_s", std::to_string(refusal.skew.count())}});
    calling([&] { options_.onRefused(refusal); }, static_cast<bool>(options_.onRefused));
  }

  // Documented: exceptions of a listener are ignored.
  template <typename Call>
  void calling(const Call& call, bool isSet) noexcept {
    if (isSet) {
      core_->guarded(call);
    }
  }

  /// Marks answers to an admitted sender. An anonymous sender may still be refused because of the name in a frame.
  [[nodiscard]] static Respond vouching(Respond respond) {
    return [respond = std::move(respond)](InboundResponse response) {
      response.authenticated = response.status != 401;
      respond(std::move(response));
    };
  }

  /// Signs answers for the peer, under an id that no request has.
  [[nodiscard]] Respond signing(Respond respond, std::shared_ptr<const protocol::KeyRing> keys,
                                std::string_view webhookId) const {
    return [respond = std::move(respond), keys = std::move(keys), clock = core_->options().clock,
            agent = core_->options().agent,
            id = std::string(protocol::kAnswerIdPrefix).append(webhookId)](InboundResponse response) {
      protocol::nameAuthor(agent, response);
      protocol::SignatureHeaders headers = keys->sign(id, response.body, clock->wallNow());
      response.headers.emplace_back("webhook-id", std::move(headers.id));
      response.headers.emplace_back("webhook-timestamp", std::move(headers.timestamp));
      response.headers.emplace_back("webhook-signature", std::move(headers.signature));
      respond(std::move(response));
    };
  }

  // The text is the same for every cause, so that it reveals nothing.
  void refuseUnauthenticated(const Respond& respond) {
    core_->refusals().add({.unauthenticated = 1});
    InboundResponse response = protocol::problem(401, "Unauthorized", "");
    response.headers.emplace_back("www-authenticate", "StandardWebhooks");
    respond(std::move(response));
  }

  bool mayGoOn(const PeerRegistry::Sender& sender, const InboundRequest& request, protocol::DecodedRequest& decoded,
               const Respond& respond) {
    std::size_t refusedFrames = 0;
    const PeerRegistry::Verdict verdict = registry_.authorise(sender, decoded, refusedFrames);
    if (refusedFrames > 0) {
      core_->refusals().add({.forbidden = refusedFrames});
    }
    if (refusedFrames > 0 || verdict != PeerRegistry::Verdict::allowed) {
      reportRefusal({.reason = RefusalReason::notAllowed, .agent = PeerRegistry::nameOf(sender, request)});
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

  [[nodiscard]] bool begun() ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    underWay_ += isClosed_ ? 0 : 1;
    return !isClosed_;
  }

  void ended() ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --underWay_;
    idle_.notifyAll();
  }

  const std::shared_ptr<manager::Core> core_;
  const FrameHandler handler_;
  const InboundOptions options_;
  const manager::Tracer tracer_;
  const PeerRegistry registry_;
  // Null when no handler of this process defers.
  std::shared_ptr<manager::InboundRunner> runner_;

  manager::ReportLimiter<std::pair<std::string, InboundLimit>> limitReports_;
  manager::ReportLimiter<std::pair<std::string, RefusalReason>> refusalReports_;

  Mutex mutex_;
  ConditionVariable idle_;
  std::size_t underWay_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool isClosed_ ACKBOX_GUARDED_BY(mutex_) = false;
};

void validate(const InboundOptions& options, std::string_view agent) {
  protocol::checkInboundOptions(options);
  const manager::PeerRegistry registry(options, agent, systemClock());
}

InboundHandler::InboundHandler(OutboxManager& manager, FrameHandler handler, InboundOptions options) {
  protocol::checkInboundOptions(options);
  if (!handler) {
    throw OptionError("handler", "is empty", "a function");
  }
  manager::CoreOf::manager(manager)->home().require();
  impl_ = std::make_shared<Impl>(manager::CoreOf::manager(manager), std::move(handler), std::move(options));
}
InboundHandler::InboundHandler(InboundHandler&&) noexcept = default;

InboundHandler& InboundHandler::operator=(InboundHandler&& other) noexcept {
  if (this != &other) {
    const InboundHandler ending(std::move(*this));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

InboundHandler::~InboundHandler() {
  if (impl_ && impl_->home().isHere()) {
    impl_->close();
  } else if (impl_) {
    HomeProcess::abandon(std::move(impl_));
  }
}

void InboundHandler::asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond) {
  impl_->home().require();
  impl_->handle(std::move(request), std::move(respond), protocol::HandlerThread::store,
                protocol::RequestForm::cloudEvents);
}

protocol::InboundPort& protocol::InboundPort::of(InboundHandler& handler) {
  return *handler.impl_;
}

std::weak_ptr<protocol::InboundPort> protocol::InboundPort::shared(InboundHandler& handler) {
  return handler.impl_;
}

const InboundOptions& InboundHandler::options() const noexcept {
  return impl_->options();
}

}  // namespace ackbox
