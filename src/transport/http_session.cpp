#include "transport/http_session.hpp"

#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "transport/http_session_body.hpp"
#include "transport/refusal.hpp"
#include "transport/request_budget.hpp"

namespace ackbox::transport {
namespace {

using boost::system::error_code;

}  // namespace

HttpSessionBody::HttpSessionBody(std::shared_ptr<Stream> stream, std::shared_ptr<const HttpSessionOptions> options,
                                 HttpSessionWatcher watcher)
    : options_(std::move(options)),
      stream_(std::move(stream)),
      bornAt_(options_->clock->steadyNow()),
      alarm_(options_->clock->makeAlarm(stream_->get_executor())),
      watcher_(std::move(watcher)),
      buffer_(options_->headerBytesMax + kReadAheadBytes) {}

HttpSessionBody::~HttpSessionBody() {
  hold(0);
}

void HttpSessionBody::start() {
  post([this] { shakeHands(); });
}

void HttpSessionBody::stop() {
  post([this] {
    stopping_ = true;
    if (phase_ == Phase::idle || phase_ == Phase::handshaking) {
      close();
    } else if (phase_ == Phase::streaming) {
      finishStream(true);
    }
  });
}

void HttpSessionBody::evict() {
  // Its bytes count as given back: no other session is asked for the same bytes, and this one is not asked again.
  hold(0);
  post([this] {
    if (phase_ == Phase::closed) {
      return;
    }
    if (isIdler_ || isAtRest_) {
      ++options_->totals->evicted;
      close();
    } else {
      watcher_.changed();
    }
  });
}

void HttpSessionBody::shakeHands() {
  phase_ = Phase::handshaking;
  setAlarm(options_->handshakeTimeout);
  stream_->asyncHandshake(guarded([this](const std::string& failure) {
    if (phase_ != Phase::handshaking) {
      return;
    }
    if (failure.empty()) {
      certificateAgents_ = stream_->peerUris();
      certificateEnd_ = stream_->peerCertificateEnd();
      awaitRequest();
    } else {
      close();
    }
  }));
}

void HttpSessionBody::awaitRequest() {
  if (phase_ == Phase::closed) {
    return;
  }
  phase_ = Phase::idle;
  if (stopping_) {
    close();
    return;
  }
  if (buffer_.size() > 0) {
    begin();
    return;
  }
  forget();
  setAlarm(options_->idleTimeout);
  stream_->async_read_some(buffer_.prepare(kFirstReadBytes), guarded([this](const error_code& error, std::size_t size) {
                             if (phase_ != Phase::idle) {
                               return;
                             }
                             if (error) {
                               close();
                               return;
                             }
                             buffer_.commit(size);
                             begin();
                           }));
  rest();
}

void HttpSessionBody::forget() {
  parser_.reset();
  request_ = {};
  admitted_ = {};
  client_ = {};
  streamed_ = {};
  answerHead_ = {};
  answerBody_ = {};
  if (buffer_.size() == 0 && buffer_.capacity() > kFirstReadBytes) {
    buffer_.shrink_to_fit();
  }
  hold(0);
}

void HttpSessionBody::rest() {
  isAtRest_ = true;
  if (isKnown_) {
    watcher_.changed();
  }
}

void HttpSessionBody::becomeIdler() {
  if (!isIdler_ && !isKnown_) {
    isIdler_ = true;
    watcher_.changed();
  }
}

bool HttpSessionBody::hasRoom() {
  hold(parser_->body().capacity() + bufferBytes());
  return !options_->budget->isOverdrawn() || held_ == 0 || watcher_.overdrawn();
}

std::size_t HttpSessionBody::bufferBytes() const {
  return buffer_.capacity() > kFirstReadBytes ? buffer_.capacity() : 0;
}

void HttpSessionBody::hold(std::size_t bytes) {
  if (bytes != held_) {
    options_->budget->change(held_.exchange(bytes), bytes);
  }
}

void HttpSessionBody::setAlarm(std::chrono::milliseconds timeout) {
  alarm_->set(options_->clock->steadyNow() + timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->guard([&] { self->onTimeout(); });
    }
  });
}

void HttpSessionBody::onTimeout() {
  if (phase_ == Phase::handling && options_->clock->steadyNow() < handledUntil_) {
    lookForEnd();
  } else if (phase_ == Phase::handling) {
    refuse(handlerTooSlow());
  } else {
    close();
  }
}

void HttpSessionBody::close() {
  if (phase_ == Phase::closed) {
    return;
  }
  phase_ = Phase::closed;
  hold(0);
  alarm_->cancel();
  stream_->close();
  std::exchange(watcher_, {}).ended();
  if (const AnswerWatcher producer = std::exchange(producer_, {}); producer.ended) {
    producer.ended(AnswerEnd::lost);
  }
  if (const std::shared_ptr<ClientWatch> client = std::exchange(client_, {}); client && client->gone) {
    client->gone();
  }
}

std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                             std::shared_ptr<const HttpSessionOptions> options,
                                             HttpSessionWatcher watcher) {
  return std::make_shared<HttpSessionBody>(std::move(stream), std::move(options), std::move(watcher));
}

}  // namespace ackbox::transport
