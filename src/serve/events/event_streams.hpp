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

/// The parameters of a client's event stream.
struct EventsWish {
  /// The newest record that the client has; nothing if it wants only new records.
  std::optional<std::uint64_t> lastEventId = {};
  /// See `mayTakePlace`.
  std::string sharer = {};
  /// See `Request::isStillAllowed`.
  std::function<bool()> isStillAllowed = {};
};

/// Server-sent events for connected clients: the figures at most once a second, if they have changed, and log records
/// as they occur. The figures are read only while a client is connected, once for all clients. A client that has not
/// read the last figures gets no new ones; a client that falls behind by more than a limit is disconnected.
///
/// Thread-safety: as stated below. The executor owns all members that are not constant.
class EventStreams : public std::enable_shared_from_this<EventStreams> {
public:
  /// Reads the figures on a thread that may block, and calls `done` there; does not call it if the service ends.
  using ReadFigures = std::function<void(std::function<void(std::string json)> done)>;

  /// `executor` must be serial and be that of the connections. `streamsMax`: see `Places::eventStreams`.
  EventStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::size_t streamsMax);

  /// Must be called before streams are opened.
  void setFigures(ReadFigures read);

  // Callable from any thread.

  /// Keeps the record, and sends it to the connected clients.
  void log(const LogRecord& record);
  /// Ends the streams of callers that are not allowed any more.
  void endRevoked();
  /// Opens no more streams, and reads no more figures. Open streams end with their connections.
  void close();

  // Callable on the executor only.

  /// Opens `answer`. Returns false if there are too many streams, or too many of its sharer's.
  [[nodiscard]] bool open(EventsWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head);

private:
  struct Stream {
    EventsWish wish;
    std::shared_ptr<transport::AnswerStream> answer;
    std::uint64_t lastRecord = 0;
    // The number of the figures that the stream has; 0 if it has no figures.
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
  // Records are waiting, and a posted task will send them.
  std::atomic<bool> isSending_ = false;
  std::atomic<std::size_t> open_ = 0;
  ReadFigures readFigures_;

  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  std::map<std::uint64_t, Stream> streams_;
  std::uint64_t lastStream_ = 0;
  std::string figures_;
  // The number of changes of the figures.
  std::uint64_t figuresNumber_ = 0;
  bool isReading_ = false;
  bool isTicking_ = false;
  bool closed_ = false;
};

}  // namespace ackbox::serve
