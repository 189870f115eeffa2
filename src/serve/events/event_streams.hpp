#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_request.hpp"
#include "serve/events/log_ring.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::serve {

/// What a client of the events asks for.
struct EventsWish {
  /// The newest record that it has; nothing: it wants those from now on.
  std::optional<std::uint64_t> lastEventId = {};
  /// See `mayTakePlace`.
  std::string sharer = {};
  /// See `Request::isStillAllowed`.
  std::function<bool()> isStillAllowed = {};
};

/// Server-sent events to those who look: the figures once a second where they have changed, and log records as they
/// happen. Figures are read while somebody looks, once for all. A client that has not taken the last figures is given
/// none; one that falls behind by more than a bound is cut.
///
/// Thread-safety: as said below. What is not constant is owned by the executor.
class EventStreams : public std::enable_shared_from_this<EventStreams> {
public:
  /// Reads the figures on a thread that may wait, and calls `done` there; never, if the service ends.
  using ReadFigures = std::function<void(std::function<void(std::string json)> done)>;

  /// `executor` runs one thing at a time, the connections' work too. `streamsMax`: see `Places::eventStreams`.
  EventStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::size_t streamsMax);

  /// To be called before there are streams.
  void setFigures(ReadFigures read);

  // From any thread.

  /// Keeps the record, and sends it to those who look.
  void log(const LogRecord& record);
  /// Ends the streams that are not allowed any more.
  void endRevoked();
  /// Opens no more streams, and reads no more figures. What is open ends with its connection.
  void close();

  // On the executor only.

  /// Opens `answer`, unless there are too many streams, or too many of its sharer's: then false.
  [[nodiscard]] bool open(EventsWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head);

private:
  struct Stream {
    EventsWish wish;
    std::shared_ptr<transport::AnswerStream> answer;
    std::uint64_t lastRecord = 0;
    // Which of the figures it has; 0: none.
    std::uint64_t figures = 0;
    SteadyTime lastSentAt;
  };

  void sendRecords();
  void sendRecords(Stream& stream);
  void sendFigures(Stream& stream);
  void send(Stream& stream, const std::string& text);
  void cutSlow();
  void read();
  void onFigures(std::string json);
  void onTick();
  void arm();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t streamsMax_;
  LogRing ring_;
  // Records are to be sent, and somebody will.
  std::atomic<bool> isSending_ = false;
  std::atomic<std::size_t> open_ = 0;
  ReadFigures readFigures_;

  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  std::map<std::uint64_t, Stream> streams_;
  std::uint64_t lastStream_ = 0;
  std::string figures_;
  // Counts the changes of the figures.
  std::uint64_t figuresNumber_ = 0;
  bool isReading_ = false;
  bool isTicking_ = false;
  bool closed_ = false;
};

}  // namespace ackbox::serve
