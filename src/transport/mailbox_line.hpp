#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transport/http_poster.hpp"
#include "transport/url.hpp"

namespace ackbox::transport {

class TlsContext;

/// How a mailbox's stream ended.
struct MailboxEnd {
  /// The status of an answer that is no stream, such as 401; 0: there was no answer, or the stream was lost.
  int status = 0;
  /// Text for people.
  std::string what = {};
};

/// One stream of a mailbox. `MailboxStream` is one over HTTP; a simulation has others.
///
/// Thread-safety: none; owned by the strand of its run, on which the callbacks are called.
class MailboxLine {
public:
  /// What is asked for, and the limits.
  struct Wish {
    /// With the target of the stream.
    Url url = {};
    /// Null for plain HTTP.
    std::shared_ptr<TlsContext> tls = {};
    /// Lines of the request's head, each with its line end, such as `Authorization`.
    std::string headers = {};
    /// Beyond this, a line ends the stream.
    std::size_t lineBytesMax = 0;
    /// A stream without a byte for this time has ended.
    std::chrono::milliseconds silence{0};
  };
  /// Each is called on the strand, never inside `start`. None is called after `cancel` or `onEnd`.
  struct Events {
    /// The hub has accepted the stream.
    std::function<void()> onOpen = {};
    /// A line that is not empty, without its end.
    std::function<void(std::string_view line)> onLine = {};
    /// The end, once.
    std::function<void(MailboxEnd end)> onEnd = {};
  };

  MailboxLine() = default;
  virtual ~MailboxLine() = default;
  MailboxLine(const MailboxLine&) = delete;
  MailboxLine& operator=(const MailboxLine&) = delete;

  /// Call it once.
  virtual void start() = 0;

  /// Closes the connection; no callback is called from then on.
  virtual void cancel() = 0;
};

/// The way of a run to its hub.
///
/// Thread-safety: none; called by the constructor of the run, then on its strand.
class MailboxNetwork {
public:
  MailboxNetwork() = default;
  virtual ~MailboxNetwork() = default;
  MailboxNetwork(const MailboxNetwork&) = delete;
  MailboxNetwork& operator=(const MailboxNetwork&) = delete;

  /// For requests that report outcomes.
  [[nodiscard]] virtual std::shared_ptr<HttpPoster> makePoster(const boost::asio::any_io_executor& strand) = 0;
  /// A stream that is not started.
  [[nodiscard]] virtual std::shared_ptr<MailboxLine> makeLine(const boost::asio::any_io_executor& strand,
                                                              MailboxLine::Wish wish, MailboxLine::Events events) = 0;
};

}  // namespace ackbox::transport
