#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::transport {

/// How an answer that goes on has ended.
enum class AnswerEnd : std::uint8_t {
  /// The server ended it: its producer, or a stop.
  finished,
  /// The client ended the connection, or took nothing for too long.
  lost,
};

/// What the producer of an answer that goes on is called with, on the connection's executor.
struct AnswerWatcher {
  /// The connection has taken all that was sent. It may send more.
  std::function<void()> taken = {};
  /// Once, unless the producer ended it; nothing is called after it.
  std::function<void(AnswerEnd)> ended = {};
};

/// An answer that goes on until either side ends it, such as a list of events. Its connection is read, too, so that the
/// client's end is noticed at once; half an end is one. No request's timeout ends it, but a client that for a minute
/// takes nothing of what is there for it is cut: it cannot be known from one that hangs.
///
/// Thread-safety: none; owned by the connection's executor.
/// Lifetime: may outlive the connection; then nothing is done any more.
class AnswerStream {
public:
  virtual ~AnswerStream() = default;

  /// The first call: sends the status and the headers of `head`, and after that its body.
  virtual void open(InboundResponse head, AnswerWatcher watcher) = 0;

  /// Adds to the answer. What the connection does not take yet stays in memory: see `unread`.
  virtual void send(std::string_view bytes) = 0;

  /// Bytes that the connection has not taken. Its producer limits them.
  [[nodiscard]] virtual std::size_t unread() const noexcept = 0;

  /// Ends the answer, and then its connection.
  virtual void finish() = 0;

  /// Closes the connection, whatever was not taken.
  virtual void cut() = 0;
};

}  // namespace ackbox::transport
