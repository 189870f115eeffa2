#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/http_sender.hpp"
#include "transport/connector.hpp"
#include "transport/mailbox_line.hpp"
#include "transport/message_parser.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {

/// One `GET` whose answer is lines without an end, until it breaks, is silent for too long, or is ended by `cancel`.
///
/// Thread-safety: none; owned by the strand `executor`, on which the callbacks are called.
class MailboxStream final : public MailboxLine, public std::enable_shared_from_this<MailboxStream> {
public:
  /// `options.clock` must be set.
  MailboxStream(const boost::asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options,
                Wish wish, Events events);

  void start() override;
  void cancel() override;

private:
  using Parser = MessageParser<false>;

  template <typename Step>
  void guard(const Step& step);
  void onConnected(std::shared_ptr<Stream> stream, const std::string& failure);
  void watch();
  void read();
  void onBytes(const boost::system::error_code& error, std::size_t size);
  void parse();
  void onHead();
  void takeBody();
  void takeLines(std::string_view bytes);
  /// Counts an empty line; false if there are too many.
  [[nodiscard]] bool mayBeEmpty();
  void refuse();
  void end(MailboxEnd end);

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  const Wish wish_;
  const std::string authority_;
  const std::unique_ptr<Alarm> alarm_;
  // Null after the end.
  std::shared_ptr<const Events> events_;
  std::shared_ptr<Connector> connector_;
  std::shared_ptr<Stream> stream_;
  std::string request_;
  std::unique_ptr<Parser> parser_;
  // The body of an answer that is no stream.
  std::string refusal_;
  // The beginning of a line whose end has not come.
  std::string line_;
  // The empty lines since then, a time of `Wish::silence` at most.
  std::size_t emptyLines_ = 0;
  SteadyTime emptySince_{};
  bool isOpen_ = false;
  bool isEnded_ = false;
  boost::beast::flat_buffer buffer_;
};

}  // namespace ackbox::transport
