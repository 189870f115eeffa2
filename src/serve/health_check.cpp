#include "serve/health_check.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/stream.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::string_view kUnixPrefix = "unix:";
// The room for a path in the kernel's address of a socket file, without the terminating zero.
constexpr std::size_t kPathBytesMax = 107;
constexpr std::size_t kAnswerBytesMax = 4096;
constexpr std::string_view kRequest = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// One request in progress. The first failure, or the answer's first line, ends it.
class Question {
public:
  explicit Question(asio::io_context& context) : resolver_(context), tcp_(context), socket_(context) {}

  void ask(const transport::Url& url) {
    resolver_.async_resolve(url.host, std::to_string(url.port), [this](const error_code& error, const auto& found) {
      isResolved_ = true;
      if (!failed(error)) {
        asio::async_connect(tcp_, found, [this](const error_code& failure, const auto&) {
          if (!failed(failure)) {
            socket_ = transport::Socket(std::move(tcp_));
            send();
          }
        });
      }
    });
  }

  void ask(const std::string& path) {
    isResolved_ = true;
    socket_.async_connect(asio::local::stream_protocol::endpoint(path), [this](const error_code& error) {
      if (!failed(error)) {
        send();
      }
    });
  }

  /// Whether no thread resolves its host any more.
  [[nodiscard]] bool isResolved() const { return isResolved_; }
  /// Nothing while the request has not ended.
  [[nodiscard]] const std::optional<HealthCheckResult>& result() const { return result_; }

private:
  bool failed(const error_code& error) {
    if (error) {
      result_ = HealthCheckResult{HealthCheckResult::State::notReady, error.message()};
    }
    return static_cast<bool>(error);
  }

  void send() {
    asio::async_write(socket_, asio::buffer(kRequest), [this](const error_code& error, std::size_t) {
      if (!failed(error)) {
        receive();
      }
    });
  }

  void receive() {
    asio::async_read_until(socket_, asio::dynamic_buffer(answer_, kAnswerBytesMax), "\r\n",
                           [this](const error_code& error, std::size_t size) {
                             if (!failed(error)) {
                               judge(std::string_view(answer_).substr(0, size - 2));
                             }
                           });
  }

  void judge(std::string_view line) {
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    const bool isHttp = line.starts_with(kVersion);
    const std::string_view status = isHttp ? line.substr(kVersion.size()) : "with something else than HTTP";
    const bool isReady = isHttp && status.starts_with("200");
    result_ = HealthCheckResult{isReady ? HealthCheckResult::State::ready : HealthCheckResult::State::notReady,
                                isReady ? "ready" : "answers " + std::string(status)};
  }

  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket tcp_;
  transport::Socket socket_;
  std::string answer_;
  bool isResolved_ = false;
  std::optional<HealthCheckResult> result_;
};

}  // namespace

HealthCheckResult checkHealth(const std::string& url, std::chrono::milliseconds timeout) {
  const bool isUnix = url.starts_with(kUnixPrefix);
  const transport::ParsedUrl parsed = isUnix ? transport::ParsedUrl() : transport::parseUrl(url);
  if (!isUnix && (!parsed.url || parsed.url->isEncrypted)) {
    return {HealthCheckResult::State::wrongUrl, parsed.url ? "only http:// and unix: can be asked" : parsed.error};
  }
  const std::string path = isUnix ? url.substr(kUnixPrefix.size()) : std::string();
  if (isUnix && (path.empty() || path.size() > kPathBytesMax)) {
    return {HealthCheckResult::State::wrongUrl, "the path behind unix: must have 1 to 107 bytes"};
  }
  auto context = std::make_unique<asio::io_context>();
  auto question = std::make_unique<Question>(*context);
  isUnix ? question->ask(path) : question->ask(*parsed.url);
  context->run_for(timeout);
  if (question->result()) {
    return *question->result();
  }
  if (!question->isResolved()) {
    // Their destructors would wait for the system's name resolution, which takes longer. The program exits now.
    static_cast<void>(question.release());
    static_cast<void>(context.release());
  }
  return {HealthCheckResult::State::notReady, "no answer within " + std::to_string(timeout.count()) + " ms"};
}

}  // namespace ackbox::serve
