#include "serve/http/token_watch.hpp"
#include "serve/report.hpp"

#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

namespace ackbox::serve {
namespace {

constexpr std::chrono::seconds kTokensLook{10};

}  // namespace

TokenWatch::TokenWatch(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::filesystem::path file,
                       std::chrono::milliseconds grace, Use use, LogSink log)
    : executor_(std::move(executor)),
      clock_(std::move(clock)),
      file_(std::move(file)),
      grace_(grace),
      use_(std::move(use)),
      log_(std::move(log)),
      alarm_(clock_->makeAlarm(executor_)) {}

void TokenWatch::start() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->arm(); });
}

void TokenWatch::stop() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->isStopped_ = true;
    self->alarm_->cancel();
  });
}

void TokenWatch::arm() {
  if (isStopped_) {
    return;
  }
  alarm_->set(clock_->steadyNow() + kTokensLook, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->arm();
      self->look();
    }
  });
}

void TokenWatch::look() {
  std::vector<std::string> problems;
  Tokens tokens = Tokens::read(file_, problems);
  if (problems.empty()) {
    onUsable(std::move(tokens));
  } else {
    onUnusable(problems.front());
  }
}

void TokenWatch::onUsable(Tokens&& tokens) {
  if (!until_) {
    return;
  }
  until_.reset();
  isOver_ = false;
  use_(std::make_shared<const Tokens>(std::move(tokens)));
  report(LogLevel::info, "tokens-back", "the file of tokens can be used again", {"file", file_.native()});
}

void TokenWatch::onUnusable(std::string_view cause) {
  const SteadyTime now = clock_->steadyNow();
  if (!until_) {
    until_ = now + grace_;
    const std::string minutes = std::to_string(std::chrono::duration_cast<std::chrono::minutes>(grace_).count());
    report(LogLevel::warning, "tokens-unusable",
           "the file of tokens cannot be used; the earlier tokens stay valid for " + minutes +
               " minutes: correct the cause",
           {"cause", cause});
  } else if (now >= *until_ && !std::exchange(isOver_, true)) {
    use_(std::make_shared<const Tokens>());
    report(LogLevel::error, "tokens-over",
           "no token is valid any more, because the file of tokens cannot be used: correct the cause",
           {"cause", cause});
  }
}

void TokenWatch::report(LogLevel level, std::string_view event, std::string_view text, LogField field) const {
  serve::report(log_, *clock_, level, event, text, {&field, 1});
}

}  // namespace ackbox::serve
