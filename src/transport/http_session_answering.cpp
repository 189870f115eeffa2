#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <chrono>
#include <utility>

#include "transport/answer_text.hpp"
#include "transport/http_session_body.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// A connection is closed after this many answers to requests that proved no identity.
constexpr int kRefusalsMax = 10;
// How many bytes of a refused request are read and thrown away, see `kLingerTimeout`.
constexpr std::size_t kLingerBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kDiscardBytes = std::size_t{16} * 1024;

}  // namespace

void HttpSessionBody::onResponse(std::uint64_t number, InboundResponse&& response) {
  if (phase_ != Phase::handling || number != requestNumber_) {
    return;
  }
  answer(std::move(response), true);
}

void HttpSessionBody::answer(InboundResponse&& response, bool mayGoOn) {
  isKnown_ = isKnown_ || response.authenticated;
  refusals_ += response.authenticated ? 0 : 1;
  const bool isOld = options_->clock->steadyNow() - bornAt_ >= options_->connectionAge;
  write(std::move(response), mayGoOn && keepAlive_ && !stopping_ && !isOld && refusals_ < kRefusalsMax);
}

void HttpSessionBody::refuse(InboundResponse&& response) {
  ++options_->totals->refused;
  write(std::move(response), false);
}

void HttpSessionBody::write(InboundResponse&& response, bool keepAlive) {
  phase_ = Phase::writing;
  client_ = {};
  if (isHead_) {
    response.body.clear();
  }
  answerHead_ = headOf(response, Framing::counted, response.body.size(), keepAlive, options_->clock->wallNow());
  answerBody_ = std::move(response.body);
  answerKeepsAlive_ = keepAlive;
  written_ = 0;
  writeUntil_ = options_->clock->steadyNow() + options_->requestTimeout;
  if (!keepAlive) {
    // Its input is not needed any more.
    parser_.reset();
    buffer_.clear();
    hold(0);
  }
  writeMore();
  // Evictable only now, when the first piece of the answer is on its way: the reason of a refusal must arrive.
  becomeIdler();
}

void HttpSessionBody::writeMore() {
  const SteadyTime now = options_->clock->steadyNow();
  setAlarm(std::min(options_->writeTimeout, std::chrono::ceil<std::chrono::milliseconds>(writeUntil_ - now)));
  const std::size_t ofHead = std::min(written_, answerHead_.size());
  const std::array<asio::const_buffer, 2> rest = {asio::buffer(answerHead_) + ofHead,
                                                  asio::buffer(answerBody_) + (written_ - ofHead)};
  stream_->async_write_some(rest, guarded([this](const error_code& error, std::size_t size) {
                              if (phase_ != Phase::writing) {
                                return;
                              }
                              written_ += size;
                              if (error) {
                                close();
                              } else if (written_ < answerHead_.size() + answerBody_.size()) {
                                writeMore();
                              } else if (answerKeepsAlive_) {
                                awaitRequest();
                              } else {
                                linger();
                              }
                            }));
}

void HttpSessionBody::linger() {
  forget();
  setAlarm(kLingerTimeout);
  stream_->asyncFinish(guarded([this] { discard(0); }));
  rest();
}

void HttpSessionBody::discard(std::size_t discarded) {
  if (phase_ == Phase::closed) {
    return;
  }
  stream_->asyncDiscardSome(buffer_.prepare(kDiscardBytes),
                            guarded([this, discarded](const error_code& error, std::size_t size) {
                              if (error || discarded + size > kLingerBytesMax) {
                                close();
                              } else {
                                discard(discarded + size);
                              }
                            }));
}

}  // namespace ackbox::transport
