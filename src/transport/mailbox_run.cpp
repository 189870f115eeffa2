#include "transport/mailbox_run.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/version.hpp"
#include "protocol/mailbox.hpp"
#include "transport/http_client.hpp"
#include "transport/mailbox_stream.hpp"
#include "transport/option_rows.hpp"

namespace ackbox::transport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRefusedPauseLeast{5'000};
constexpr milliseconds kRefusedPauseMost{60'000};
// A stream that was open for this long was no failed attempt.
constexpr milliseconds kSoundStream{10'000};
// The reports in a row whose answers may be lost before the stream is opened anew.
constexpr std::size_t kReportsLost = 4;

std::string userAgent() {
  return "ackbox/" + std::string(kVersion);
}

bool isRefusal(int status) noexcept {
  return status == 401 || status == 403 || status == 404 || status == 422;
}

/// Calls a callback of the program, whose exceptions are dropped.
template <typename Callback, typename... Values>
void callIfSet(const Callback& callback, const Values&... values) {
  if (!callback) {
    return;
  }
  try {
    callback(values...);
  } catch (...) {
    // Documented.
  }
}

}  // namespace

Url hubOf(const MailboxFetcherOptions& options) {
  if (options.url.empty()) {
    throw OptionError("url", "must be set");
  }
  ParsedUrl parsed = parseUrl(options.url);
  if (!parsed.url) {
    throw OptionError("url", parsed.error);
  }
  if (!parsed.url->isEncrypted && !options.allowPlainHttp && !parsed.url->isLoopback()) {
    throw OptionError("url", "http:// to another machine must be asked for with `allowPlainHttp`");
  }
  std::string& target = parsed.url->target;
  if (target.find('?') != std::string::npos) {
    throw OptionError("url", "must have no query; give the address of the hub's API, such as https://hub.example.com");
  }
  while (target.ends_with('/')) {
    target.pop_back();
  }
  return *std::move(parsed.url);
}

void validate(const MailboxFetcherOptions& options) {
  checkOptions(mailboxOptionRows(), options);
  if (options.reconnectMost < options.reconnectLeast) {
    throw OptionError("reconnectMost", "must be at least `reconnectLeast`");
  }
  static_cast<void>(hubOf(options));
}

MailboxStatus MailboxBoard::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

MailboxRun::MailboxRun(const boost::asio::any_io_executor& executor, std::shared_ptr<const MailboxPlan> plan)
    : strand_(boost::asio::make_strand(executor)),
      plan_(std::move(plan)),
      client_(plan_->network ? plan_->network->makePoster(strand_)
                             : std::make_shared<HttpClient>(strand_, plan_->http)),
      frames_(std::make_shared<MailboxFrames>(
          strand_, MailboxFrames::Means{
                       .clock = plan_->options.clock,
                       .random = plan_->options.random,
                       .handler = plan_->handler,
                       .window = plan_->options.window,
                       .onOutcome = [this](std::uint64_t stream,
                                           std::string settlement) { settler_->add(stream, std::move(settlement)); },
                       .onRefused = [this](const protocol::MailboxFrame& frame,
                                           const std::string& what) { onRefused(frame, what); }})),
      settler_(std::make_shared<MailboxSettler>(
          strand_, MailboxSettler::Means{
                       .clock = plan_->options.clock,
                       .random = plan_->options.random,
                       .poster = client_,
                       .makePost = [this](std::string body,
                                          std::string& problem) { return settlePost(std::move(body), problem); },
                       .onSettled = [this](std::size_t settled, std::size_t reported) { onSettled(settled, reported); },
                       .onProblem =
                           [this](const std::string& what) {
                             if (state_ == MailboxState::fetching) {
                               show(state_, "outcomes cannot be reported: " + what);
                             }
                           }})),
      alarm_(plan_->options.clock->makeAlarm(strand_)),
      away_(plan_->options.reconnectLeast, plan_->options.reconnectMost),
      refused_(kRefusedPauseLeast, kRefusedPauseMost) {}

void MailboxRun::start() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->isStopped_) {
      self->show(MailboxState::connecting, {});
      self->open();
    }
  });
}

void MailboxRun::stop() {
  frames_->closeGate();
  boost::asio::post(strand_, [self = shared_from_this()] {
    self->isStopped_ = true;
    self->alarm_->cancel();
    if (const std::shared_ptr<MailboxLine> stream = std::exchange(self->stream_, nullptr)) {
      stream->cancel();
    }
    self->settler_->close();
    self->frames_->close();
  });
  // Afterwards, so that the end of its requests is not reported as a problem.
  client_->close();
}

std::shared_ptr<const protocol::OwnHeaders> MailboxRun::token(std::string& problem) const {
  if (!plan_->token) {
    return std::make_shared<const protocol::OwnHeaders>();
  }
  std::shared_ptr<const protocol::OwnHeaders> current = plan_->token->current();
  if (current->isEmpty()) {
    problem = "the token cannot be read any more";
    return nullptr;
  }
  return current;
}

void MailboxRun::open() {
  std::string problem;
  const std::shared_ptr<const protocol::OwnHeaders> own = token(problem);
  if (!own) {
    lose(MailboxState::refused, std::move(problem), refused_);
    return;
  }
  if (frames_->inHand() >= plan_->options.window) {
    lose(MailboxState::away, "the handler has not answered to frames of an earlier stream", away_);
    return;
  }
  std::vector<std::pair<std::string, std::string>> headers = {{"User-Agent", userAgent()},
                                                              {"Accept", "application/x-ndjson"}};
  own->addTo(headers);
  MailboxLine::Wish wish;
  wish.url = plan_->hub;
  wish.url.target = protocol::mailboxTarget(plan_->hub.target, plan_->options.agent, plan_->options.window);
  wish.tls = plan_->tls;
  for (const auto& [name, value] : headers) {
    wish.headers.append(name).append(": ").append(value).append("\r\n");
  }
  wish.lineBytesMax = plan_->lineBytesMax;
  wish.silence = plan_->options.silenceTimeout;
  const auto weak = weak_from_this();
  MailboxLine::Events events;
  events.onOpen = [weak] {
    if (const auto self = weak.lock()) {
      self->onOpen();
    }
  };
  events.onLine = [weak](std::string_view line) {
    if (const auto self = weak.lock()) {
      self->onLine(line);
    }
  };
  events.onEnd = [weak](const MailboxEnd& end) {
    if (const auto self = weak.lock()) {
      self->onEnd(end);
    }
  };
  if (plan_->network) {
    stream_ = plan_->network->makeLine(strand_, std::move(wish), std::move(events));
  } else {
    stream_ = std::make_shared<MailboxStream>(strand_, plan_->http, std::move(wish), std::move(events));
  }
  stream_->start();
}

void MailboxRun::onOpen() {
  openedAt_ = plan_->options.clock->steadyNow();
  refused_.begin();
  ++lastStream_;
  frames_->setStream(lastStream_);
  settler_->setStream(lastStream_);
  show(MailboxState::fetching, {});
}

void MailboxRun::onLine(std::string_view line) {
  std::optional<protocol::MailboxFrame> frame = protocol::readMailboxLine(line);
  if (!frame) {
    stream_->cancel();
    onEnd({.status = 0, .what = plan_->hub.authority() + ": a line of the stream is no frame"});
    return;
  }
  // A hub gives a frame for each outcome that it has stored, so few wait unless the answers of several reports are
  // lost.
  if (settler_->waiting() >= kReportsLost * plan_->options.window) {
    stream_->cancel();
    onEnd({.status = 0, .what = plan_->hub.authority() + ": the hub gives frames and takes no outcomes"});
    return;
  }
  if (!frames_->add(lastStream_, *std::move(frame))) {
    stream_->cancel();
    onEnd({.status = 0, .what = plan_->hub.authority() + ": the hub gives more frames than the window allows"});
    return;
  }
  plan_->board->change([this](MailboxStatus& status) {
    ++status.fetched;
    count(status);
  });
}

void MailboxRun::onEnd(const MailboxEnd& end) {
  const bool wasSound = openedAt_ && plan_->options.clock->steadyNow() - *openedAt_ >= kSoundStream;
  if (wasSound) {
    away_.begin();
  }
  const bool refuses = isRefusal(end.status);
  lose(refuses ? MailboxState::refused : MailboxState::away, end.what, refuses ? refused_ : away_);
}

void MailboxRun::lose(MailboxState state, std::string what, MailboxPause& pause) {
  stream_ = nullptr;
  openedAt_.reset();
  frames_->setStream(0);
  settler_->setStream(0);
  show(state, std::move(what));
  alarm_->set(plan_->options.clock->steadyNow() + pause.next(*plan_->options.random), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->isStopped_) {
      self->open();
    }
  });
}

void MailboxRun::onSettled(std::size_t settled, std::size_t reported) {
  plan_->board->change([&](MailboxStatus& status) {
    status.settled += settled;
    count(status);
  });
  if (reported > 0 && state_ == MailboxState::fetching && !what_.empty()) {
    show(state_, {});
  }
}

void MailboxRun::onRefused(const protocol::MailboxFrame& frame, const std::string& what) {
  plan_->board->change([this](MailboxStatus& status) {
    ++status.refused;
    count(status);
  });
  callIfSet(plan_->options.onRefused, std::string_view(frame.source), std::string_view(frame.id),
            std::string_view(what));
}

void MailboxRun::count(MailboxStatus& status) const {
  status.inHand = frames_->inHand();
  status.refusedInHand = frames_->refusedInHand();
}

void MailboxRun::show(MailboxState state, std::string what) {
  const bool isNew = state != state_ || what != what_;
  state_ = state;
  what_ = std::move(what);
  const MailboxStatus now = plan_->board->change([this](MailboxStatus& status) {
    status.state = state_;
    status.what = what_;
    count(status);
  });
  if (isNew) {
    callIfSet(plan_->options.onState, now);
  }
}

std::optional<HttpPost> MailboxRun::settlePost(std::string body, std::string& problem) const {
  const std::shared_ptr<const protocol::OwnHeaders> own = token(problem);
  if (!own) {
    return std::nullopt;
  }
  HttpPost post;
  post.url = plan_->hub;
  post.url.target += "/v1/inbox/settle";
  post.tls = plan_->tls;
  post.headers = {{"content-type", "application/json"}, {"user-agent", userAgent()}};
  own->addTo(post.headers);
  post.body = std::move(body);
  post.timeout = plan_->options.settleTimeout;
  return post;
}

}  // namespace ackbox::transport
