#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "serve/http/request.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::serve {

/// The limits of one poll.
struct PollLimits {
  /// The most frames of the answer.
  std::size_t frames = 10;
  /// How long it waits for the first frame.
  std::chrono::milliseconds wait = std::chrono::seconds(20);
  /// How long its frames are the caller's.
  std::chrono::milliseconds lease = std::chrono::minutes(1);
};

/// A request that takes the frames that are there, or come while it waits, in one answer: a stream of `FrameStreams`
/// that is closed to further frames once it has some, and has no connection from then on. It ends when its lease is
/// over, and then its unsettled frames are given back; with the last settlement; or at once, if it has no frames.
///
/// Thread-safety: none; owned by the executor, which is that of the connections.
class FramePoll final : public transport::AnswerStream, public std::enable_shared_from_this<FramePoll> {
public:
  /// `respond` is called once, unless `open` is never called or the client goes.
  FramePoll(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, PollLimits limits,
            Respond respond);
  ~FramePoll() override;

  /// `head` begins the answer.
  void open(InboundResponse head, transport::AnswerWatcher watcher) override;
  /// Takes one line; an empty one, which is a sign of life, does not count.
  void send(std::string_view bytes) override;
  /// From the answer on, more than any stream takes.
  [[nodiscard]] std::size_t unread() const noexcept override;
  /// Answers, if that has not been done, and ends the lease without a report.
  void finish() override;
  /// The client has gone. Without an effect once it is answered.
  void cut() override;

private:
  enum class Phase : std::uint8_t { waiting, leased, over };

  void setAlarm(std::chrono::milliseconds after, void (FramePoll::*then)());
  void answer();
  void expire() { end(transport::AnswerEnd::lost); }
  void end(transport::AnswerEnd how);

  const std::shared_ptr<Clock> clock_;
  const std::unique_ptr<Alarm> alarm_;
  const PollLimits limits_;
  Respond respond_;
  InboundResponse response_;
  transport::AnswerWatcher watcher_;
  std::size_t count_ = 0;
  Phase phase_ = Phase::waiting;
};

}  // namespace ackbox::serve
