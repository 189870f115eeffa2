#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::transport {

/// How an answer that goes on has ended.
enum class AnswerEnd : std::uint8_t {
  /// The server ended it: by its producer, or by a stop.
  finished,
  /// The client closed the connection, or took nothing for too long.
  lost,
};

/// The callbacks to the producer of an answer that goes on, called on the connection's executor.
struct AnswerWatcher {
  /// The connection has taken all bytes that were sent; the producer may send more.
  std::function<void()> taken = {};
  /// Called once, unless the producer ended the answer. Nothing is called after it.
  std::function<void(AnswerEnd)> ended = {};
};

/// An answer that goes on until either side ends it, such as a list of events. Its connection is also read, so that the
/// client's end is noticed at once, even if the client ends only its sending half. No request timeout ends it, but a
/// client that takes no waiting bytes for a minute is cut, because it cannot be distinguished from one that hangs.
///
/// Thread-safety: none; owned by the connection's executor.
/// Lifetime: may outlive the connection; its members then do nothing.
class AnswerStream {
public:
  virtual ~AnswerStream() = default;

  /// The first call: sends the status and the headers of `head`, then its body.
  virtual void open(InboundResponse head, AnswerWatcher watcher) = 0;

  /// Adds to the answer. Bytes that the connection does not take yet stay in memory: see `unread`.
  virtual void send(std::string_view bytes) = 0;

  /// The bytes that the connection has not taken. The producer must limit them.
  [[nodiscard]] virtual std::size_t unread() const noexcept = 0;

  /// Ends the answer, then closes its connection.
  virtual void finish() = 0;

  /// Closes the connection; drops all bytes that it has not taken.
  virtual void cut() = 0;
};

}  // namespace ackbox::transport
