#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "transport/answer_text.hpp"
#include "transport/http_session_body.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// How long a client may take nothing of an answer that goes on. Longer than the write timeout of other answers: a
// client that processes what it has received does not read meanwhile.
constexpr std::chrono::milliseconds kStallTimeout{60'000};
// How much a client may send while its answer goes on, such as the line break that some send after a request.
constexpr std::size_t kStrayBytesMax = std::size_t{4} * 1024;

}  // namespace

void HttpSessionBody::open(InboundResponse head, AnswerWatcher watcher) {
  if (phase_ != Phase::handling) {
    return;
  }
  phase_ = Phase::streaming;
  isKnown_ = isKnown_ || head.authenticated;
  isChunked_ = parser_->version() >= 11;
  producer_ = std::move(watcher);
  answerHead_ =
      headOf(head, isChunked_ ? Framing::chunked : Framing::untilClosed, 0, false, options_->clock->wallNow());
  forgetRequest();
  alarm_->cancel();
  if (stopping_) {
    finishStream(true);
    return;
  }
  unwritten_ = std::move(head.body);
  watchClient(0);
  flush();
}

void HttpSessionBody::send(std::string_view bytes) {
  if (phase_ == Phase::streaming && !isEnding_) {
    unwritten_ += bytes;
    flush();
  }
}

std::size_t HttpSessionBody::unread() const noexcept {
  return phase_ == Phase::streaming ? unwritten_.size() + answerHead_.size() + answerBody_.size() - written_ : 0;
}

void HttpSessionBody::finish() {
  if (phase_ == Phase::streaming) {
    producer_ = {};
    finishStream(false);
  }
}

void HttpSessionBody::cut() {
  producer_ = {};
  close();
}

// Forgets the request's bytes; further bytes of its client are read and dropped.
void HttpSessionBody::forgetRequest() {
  parser_.reset();
  request_ = {};
  buffer_.clear();
  buffer_.shrink_to_fit();
  hold(0);
}

void HttpSessionBody::watchClient(std::size_t discarded) {
  stream_->async_read_some(buffer_.prepare(kFirstReadBytes),
                           guarded([this, discarded](const error_code& error, std::size_t size) {
                             if (phase_ == Phase::closed) {
                               return;
                             }
                             if (error || discarded + size > kStrayBytesMax) {
                               close();
                             } else {
                               watchClient(discarded + size);
                             }
                           }));
}

// Writes one piece at a time: bytes that are sent meanwhile go out with the next piece.
void HttpSessionBody::flush() {
  if (isFlushing_ || (answerHead_.empty() && unwritten_.empty() && !isEnding_)) {
    return;
  }
  isFlushing_ = true;
  written_ = 0;
  const bool isLast = isEnding_;
  const std::string bytes = std::exchange(unwritten_, {});
  if (!bytes.empty()) {
    answerBody_ = isChunked_ ? chunkHead(bytes.size()) + bytes + "\r\n" : bytes;
  }
  if (isLast && isChunked_) {
    answerBody_ += "0\r\n\r\n";
  }
  if (answerHead_.empty() && answerBody_.empty()) {
    flushed(isLast);
  } else {
    flushMore(isLast);
  }
}

void HttpSessionBody::flushMore(bool isLast) {
  setAlarm(kStallTimeout);
  const std::size_t ofHead = std::min(written_, answerHead_.size());
  const std::array<asio::const_buffer, 2> rest = {asio::buffer(answerHead_) + ofHead,
                                                  asio::buffer(answerBody_) + (written_ - ofHead)};
  stream_->async_write_some(rest, guarded([this, isLast](const error_code& error, std::size_t size) {
                              if (phase_ != Phase::streaming) {
                                return;
                              }
                              written_ += size;
                              if (error) {
                                close();
                              } else if (written_ < answerHead_.size() + answerBody_.size()) {
                                flushMore(isLast);
                              } else {
                                flushed(isLast);
                              }
                            }));
}

void HttpSessionBody::flushed(bool isLast) {
  isFlushing_ = false;
  written_ = 0;
  answerHead_ = {};
  answerBody_ = {};
  alarm_->cancel();
  if (isLast) {
    // The read that is under way takes further bytes of the client.
    phase_ = Phase::writing;
    setAlarm(kLingerTimeout);
    stream_->asyncFinish(guarded([] {}));
    return;
  }
  flush();
  if (!isFlushing_ && producer_.taken) {
    // A copy: the call may end the answer, and so destroy the watcher.
    const std::function<void()> taken = producer_.taken;
    taken();
  }
}

void HttpSessionBody::finishStream(bool isOurs) {
  if (isEnding_) {
    return;
  }
  isEnding_ = true;
  const AnswerWatcher producer = std::exchange(producer_, {});
  if (isOurs && producer.ended) {
    producer.ended(AnswerEnd::finished);
  }
  flush();
}

}  // namespace ackbox::transport
