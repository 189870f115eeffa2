#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"
#include "transport/http_poster.hpp"
#include "transport/mailbox_pause.hpp"

namespace ackbox::transport {

/// Reports outcomes to the hub: those that come while a request is under way go together in the next one. A request
/// that fails is repeated while its stream is open; afterwards the hub gives its frames out again anyway.
///
/// Thread-safety: none; owned by the strand `executor`.
class MailboxSettler : public std::enable_shared_from_this<MailboxSettler> {
public:
  struct Means {
    std::shared_ptr<Clock> clock = {};
    std::shared_ptr<Random> random = {};
    std::shared_ptr<HttpPoster> poster = {};
    /// The request with this body; nothing if there can be no request for now, with the reason.
    std::function<std::optional<HttpPost>(std::string body, std::string& problem)> makePost = {};
    /// Called with the number of outcomes that the hub has stored, and how many were reported.
    std::function<void(std::size_t settled, std::size_t reported)> onSettled = {};
    /// Called at the failure of a request, with a text for people.
    std::function<void(std::string what)> onProblem = {};
  };

  MailboxSettler(const boost::asio::any_io_executor& executor, Means means);

  /// Adds an outcome of a frame of the stream with this number, a result of `protocol::settlementOf`.
  void add(std::uint64_t stream, std::string settlement);

  /// The stream with this number is the open one, and what waits of earlier ones is dropped: the hub gives its frames
  /// out again. 0: none is open.
  void setStream(std::uint64_t stream);
  /// The outcomes that are not in a request under way.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  /// Sends nothing more.
  void close();

private:
  struct Entry {
    std::uint64_t stream = 0;
    std::string text;
  };

  void go();
  [[nodiscard]] std::vector<Entry> takeBatch();
  void onAnswer(std::vector<Entry>&& batch, const HttpAnswer& answer);
  void fail(std::vector<Entry>&& batch, std::string what, bool isOfBatch);

  const boost::asio::any_io_executor executor_;
  const Means means_;
  const std::unique_ptr<Alarm> alarm_;
  MailboxPause pause_;
  std::deque<Entry> waiting_;
  std::uint64_t stream_ = 0;
  // One, after a request was refused for what is in it, until none waits.
  std::size_t batchMost_;
  // A request is under way, or the pause after a failure.
  bool isBusy_ = false;
  bool isClosed_ = false;
};

}  // namespace ackbox::transport
