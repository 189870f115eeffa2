// Goal: no bytes on a connection crash or stall the server; what it hands on is within its limits, and what it answers
// is HTTP. Method: a real server on loopback, in this thread; the input is what a client writes before it ends its
// side. The handler decodes each request as the inbox would.

#include "transport/http_server.hpp"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "check.hpp"
#include "protocol/wire.hpp"

namespace {

namespace asio = boost::asio;
using namespace ackbox;

constexpr std::size_t kBodyBytesMax = 4096;

struct Server {
  Server() {
    transport::RequestSink sink;
    sink.bodyBytesMax = kBodyBytesMax;
    sink.handle = [](const InboundRequest& request, const transport::RequestSink::Respond& respond) {
      fuzz::require(request.body.size() <= kBodyBytesMax, "a body beyond the limit is handed on");
      protocol::DecodedRequest decoded = protocol::decodeRequest(request, InboundOptions());
      InboundResponse response;
      response.contentType = "application/json";
      response.body = "{}";
      respond(decoded.problem ? std::move(*decoded.problem) : response);
    };
    InboundServerOptions options;
    options.headerBytesMax = 1024;
    server = std::make_shared<transport::HttpServer>(context.get_executor(), options, std::move(sink));
    server->start();
  }
  ~Server() {
    server->stop();
    context.poll();
  }

  asio::io_context context;
  std::shared_ptr<transport::HttpServer> server;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static Server here;
  // Beyond all that the server keeps of one connection, and beyond the lengths that fit in 16 bits.
  constexpr std::size_t kInputMax = std::size_t{128} * 1024;
  const std::string input(fuzz::textOf(bytes, std::min(size, kInputMax)));
  asio::ip::tcp::socket client(here.context);
  client.connect({asio::ip::address_v4::loopback(), here.server->port()});
  boost::system::error_code error;
  asio::async_write(client, asio::buffer(input), [&client](const boost::system::error_code&, std::size_t) {
    boost::system::error_code ended;
    client.shutdown(asio::socket_base::shutdown_send, ended);
  });
  std::string answer;
  bool ended = false;
  asio::async_read(client, asio::dynamic_buffer(answer),
                   [&](const boost::system::error_code&, std::size_t) { ended = true; });
  // A server that never ends the connection is a stall, which the fuzzer's own time limit reports.
  while (!ended) {
    here.context.run_one();
  }
  fuzz::require(answer.empty() || answer.starts_with("HTTP/1.1 "), "an answer is not HTTP");
  client.set_option(asio::socket_base::linger(true, 0), error);
  client.close(error);
  here.context.poll();
  return 0;
}
