#include "ackbox/http_sender.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <charconv>
#include <exception>
#include <mutex>
#include <utility>

#include "ackbox/error.hpp"
#include "protocol/wire.hpp"
#include "transport/http_client.hpp"
#include "transport/url.hpp"

namespace ackbox {
namespace {

constexpr std::string_view kUserAgent = "ackbox/" ACKBOX_VERSION;

void requirePositive(std::chrono::milliseconds value, const char* field) {
  if (value <= std::chrono::milliseconds(0)) {
    throw Error(Errc::invalidOption, std::string(field) + " must be above 0");
  }
}

std::shared_ptr<const HttpSenderOptions> complete(HttpSenderOptions options) {
  requirePositive(options.resolveTimeout, "resolveTimeout");
  requirePositive(options.connectTimeout, "connectTimeout");
  requirePositive(options.idleTimeout, "idleTimeout");
  if (options.responseBytesMax == 0 || options.responseBytesMax > std::size_t{64} * 1024 * 1024) {
    throw Error(Errc::invalidOption, "responseBytesMax must be from 1 to 64 MiB");
  }
  if (options.headerBytesMax < 1024 || options.headerBytesMax > std::size_t{1024} * 1024) {
    throw Error(Errc::invalidOption, "headerBytesMax must be from 1 KiB to 1 MiB");
  }
  if (!options.clock) {
    options.clock = systemClock();
  }
  if (!options.random) {
    options.random = systemRandom();
  }
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

std::string hexadecimal(std::uint64_t word) {
  std::array<char, 16> digits{};
  digits.fill('0');
  std::array<char, 16> printed{};
  const auto end = std::to_chars(printed.data(), printed.data() + printed.size(), word, 16).ptr;
  std::copy(printed.data(), end, digits.data() + (digits.size() - static_cast<std::size_t>(end - printed.data())));
  return {digits.data(), digits.size()};
}

SendReport failure(RequestOutcome outcome, std::string error) {
  SendReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  return report;
}

SendReport read(const SendRequest& request, std::string_view delivery, transport::HttpAnswer&& answer) {
  switch (answer.end) {
    case transport::HttpEnd::answered:
      return protocol::readAnswer(request, delivery, answer.status, answer.contentType, answer.retryAfter, answer.body);
    case transport::HttpEnd::unavailable:
      return failure(RequestOutcome::peerUnavailable, std::move(answer.error));
    case transport::HttpEnd::connectionLost:
      return failure(RequestOutcome::connectionLost, std::move(answer.error));
    case transport::HttpEnd::cancelled:
      return failure(RequestOutcome::cancelled, std::move(answer.error));
  }
  return failure(RequestOutcome::peerUnavailable, "unknown end of an exchange");
}

}  // namespace

class HttpSender::Body {
public:
  explicit Body(HttpSenderOptions options) : options_(complete(std::move(options))) {}

  void start(const boost::asio::any_io_executor& executor) {
    auto fresh = std::make_shared<transport::HttpClient>(executor, options_);
    replace(std::move(fresh));
  }

  void stop() { replace(nullptr); }

  void send(SendRequest&& request, SendHandler&& handler) {
    const std::shared_ptr<transport::HttpClient> client = current();
    if (!client) {
      // There is no strand to answer on.
      boost::asio::post(boost::asio::system_executor(), [handler = std::move(handler)] {
        handler(failure(RequestOutcome::cancelled, "the sender is not started"));
      });
      return;
    }
    transport::ParsedUrl parsed = transport::parseUrl(request.url);
    if (!parsed.url) {
      client->post([handler = std::move(handler), error = std::move(parsed.error)] {
        handler(failure(RequestOutcome::peerRefused, error));
      });
      return;
    }
    std::string delivery = "dlv_" + hexadecimal(options_->random->next()) + hexadecimal(options_->random->next());
    protocol::EncodedRequest encoded = protocol::encodeRequest(request, delivery);
    transport::HttpPost post;
    post.url = *std::move(parsed.url);
    post.headers = headers(encoded);
    post.body = std::move(encoded.body);
    post.timeout = request.timeout;
    client->asyncPost(std::move(post), [request = std::move(request), delivery = std::move(encoded.webhookId),
                                        handler = std::move(handler)](transport::HttpAnswer answer) {
      handler(read(request, delivery, std::move(answer)));
    });
  }

private:
  // The one place where what identifies and, once there are keys, authenticates a request is put on it: a signature
  // covers the id, the timestamp and the body, all of which are known here.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers(
      const protocol::EncodedRequest& encoded) const {
    const auto now = std::chrono::floor<std::chrono::seconds>(options_->clock->wallNow());
    return {
        {"content-type", encoded.contentType},
        {"webhook-id", encoded.webhookId},
        {"webhook-timestamp", std::to_string(now.time_since_epoch().count())},
        {"outbox-version", std::string(protocol::kVersion)},
        {"user-agent", std::string(kUserAgent)},
    };
  }

  [[nodiscard]] std::shared_ptr<transport::HttpClient> current() {
    const std::scoped_lock lock(mutex_);
    return client_;
  }

  void replace(std::shared_ptr<transport::HttpClient> fresh) {
    {
      const std::scoped_lock lock(mutex_);
      client_.swap(fresh);
    }
    if (fresh) {
      fresh->close();
    }
  }

  const std::shared_ptr<const HttpSenderOptions> options_;
  std::mutex mutex_;
  // Guarded by mutex_. Null while not started.
  std::shared_ptr<transport::HttpClient> client_;
};

HttpSender::HttpSender(HttpSenderOptions options) : body_(std::make_shared<Body>(std::move(options))) {}

HttpSender::~HttpSender() {
  stop();
}

void HttpSender::start(const boost::asio::any_io_executor& executor) {
  body_->start(executor);
}

void HttpSender::asyncSend(SendRequest request, SendHandler handler) {
  body_->send(std::move(request), std::move(handler));
}

void HttpSender::stop() {
  body_->stop();
}

}  // namespace ackbox
