#include "bench/loopback.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

namespace ackbox::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

constexpr unsigned kHttp11 = 11;

class LoopbackClient {
public:
  explicit LoopbackClient(const std::string& port) {
    stream_.connect({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoul(port))});
    stream_.socket().set_option(tcp::no_delay(true));
  }

  std::string post(std::string body) {
    http::request<http::string_body> request(http::verb::post, "/inbox", kHttp11);
    request.set(http::field::host, "127.0.0.1");
    request.set(http::field::content_type, "application/json");
    request.body() = std::move(body);
    request.prepare_payload();
    http::write(stream_, request);
    http::response<http::string_body> response;
    http::read(stream_, buffer_, response);
    if (response.result() != http::status::ok) {
      throw std::runtime_error("a baseline's receiver did not take a message");
    }
    return std::move(response.body());
  }

private:
  boost::asio::io_context context_;
  boost::beast::tcp_stream stream_{context_};
  boost::beast::flat_buffer buffer_;
};

}  // namespace

Post connectLoopback(const std::string& port) {
  return [client = std::make_shared<LoopbackClient>(port)](std::string body) { return client->post(std::move(body)); };
}

void serveLoopback(const std::function<std::string(const std::string& body)>& answer) {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  std::cout << acceptor.local_endpoint().port() << std::endl;
  boost::beast::tcp_stream stream(acceptor.accept());
  stream.socket().set_option(tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  while (true) {
    http::request<http::string_body> request;
    boost::system::error_code ended;
    http::read(stream, buffer, request, ended);
    if (ended) {
      return;
    }
    http::response<http::string_body> response(http::status::ok, kHttp11);
    response.set(http::field::content_type, "application/json");
    response.body() = answer(request.body());
    response.prepare_payload();
    http::write(stream, response);
  }
}

}  // namespace ackbox::bench
