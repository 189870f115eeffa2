// Goal: the server passes on exactly the requests that are whole, within the limits and for its inbox; it answers or
// cuts all others, and ends without losing an answer. Method: raw connections over loopback, byte for byte; the handler
// is a function that the test controls.

#include "transport/http_server.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "support/resource_limit.hpp"
#include "support/temp_dir.hpp"
#include "transport/descriptors.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::transport::http_server_test {
namespace {

using testing::RawConnection;

// Short enough not to delay the tests in which it is meant to expire.
constexpr std::chrono::milliseconds kShort(100);
constexpr std::size_t kBodyBytesMax = 1000;

std::string post(const std::string& body, const std::string& headers = {}) {
  return "POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Type: application/cloudevents+json\r\nwebhook-id: id-1\r\n" +
         headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

InboundResponse echo(const InboundRequest& request) {
  InboundResponse response;
  response.contentType = "application/json";
  response.body = request.body;
  response.authenticated = true;
  return response;
}

/// Requests that wait for the test to answer them.
class Held {
public:
  using Item = std::pair<InboundRequest, RequestSink::Respond>;

  void add(InboundRequest request, RequestSink::Respond respond) {
    const std::scoped_lock lock(mutex_);
    items_.emplace_back(std::move(request), std::move(respond));
    changed_.notify_all();
  }
  Item take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !items_.empty(); })) {
      throw std::runtime_error("no request came within ten seconds");
    }
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  [[nodiscard]] std::size_t size() {
    const std::scoped_lock lock(mutex_);
    return items_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Item> items_;
};

struct Server {
  explicit Server(
      InboundServerOptions options = {},
      std::function<void(InboundRequest, RequestSink::Respond)> handle =
          [](InboundRequest request, RequestSink::Respond respond) { respond(echo(request)); })
      : server(std::make_shared<HttpServer>(io.executor(), options,
                                            RequestSink{.handle = std::move(handle), .bodyBytesMax = kBodyBytesMax})) {
    server->start();
  }
  /// A server that puts its requests into `held`.
  Server(InboundServerOptions options, Held& held)
      : Server(std::move(options), [&held](InboundRequest request, RequestSink::Respond respond) {
          held.add(std::move(request), std::move(respond));
        }) {}
  ~Server() { server->stop(); }

  RawConnection connect() { return RawConnection(server->port()); }

  testing::IoThread io;
  std::shared_ptr<HttpServer> server;
};

bool hasStatus(const std::string& message, int status) {
  return message.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
}

TEST_CASE("A request reaches the handler whole, and its answer the peer") {
  Held held;
  Server server({}, held);
  CHECK(server.server->url() == "http://127.0.0.1:" + std::to_string(server.server->port()) + "/inbox");
  RawConnection peer = server.connect();
  peer.send(post("{\"a\":1}"));
  auto [request, respond] = held.take();
  CHECK(request.contentType == "application/cloudevents+json");
  CHECK(request.webhookId == "id-1");
  CHECK(request.body == "{\"a\":1}");
  InboundResponse response;
  response.status = 503;
  response.contentType = "application/json";
  response.body = "{}";
  response.retryAfterSeconds = 3;
  respond(std::move(response));
  const std::string message = peer.receiveMessage();
  CHECK(hasStatus(message, 503));
  CHECK(message.find("Retry-After: 3\r\n") != std::string::npos);
  CHECK(message.find("\r\nDate: ") != std::string::npos);
  CHECK(message.find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(message.find("Server:") == std::string::npos);
  CHECK(message.ends_with("\r\n\r\n{}"));
}

TEST_CASE(
    "A request's version and trace context are handed on; of two contexts neither, and two versions are refused") {
  Held held;
  Server server({}, held);
  RawConnection peer = server.connect();
  peer.send(post("1", "outbox-version: 1.4\r\ntraceparent: 00-a\r\n") +
            post("2", "traceparent: a\r\nTraceparent: b\r\n"));
  auto [first, respond] = held.take();
  CHECK(first.version == "1.4");
  CHECK(first.traceparent == "00-a");
  respond(echo(first));
  const InboundRequest second = held.take().first;
  CHECK(second.version.empty());
  CHECK(second.traceparent.empty());
  RawConnection other = server.connect();
  other.send(post("3", "outbox-version: 1\r\nOutbox-Version: 1\r\n"));
  CHECK(hasStatus(other.receiveAll(), 400));
}

TEST_CASE("A connection serves requests in turn, and those sent ahead one at a time") {
  Held held;
  Server server({}, held);
  RawConnection peer = server.connect();
  peer.send(post("1") + post("2") + post("3"));
  for (const char* body : {"1", "2", "3"}) {
    auto [request, respond] = held.take();
    CHECK(request.body == body);
    CHECK(held.size() == 0);
    respond(echo(request));
    CHECK(peer.receiveMessage().ends_with(std::string("\r\n\r\n") + body));
  }
  peer.send(post("4"));
  CHECK(held.take().first.body == "4");
}

TEST_CASE("An answer larger than what a connection takes at once arrives whole, and the connection goes on") {
  std::string body;
  for (int number = 0; body.size() < std::size_t{8} * 1024 * 1024; ++number) {
    body += std::to_string(number);
  }
  Server server({}, [&body](const InboundRequest& request, const RequestSink::Respond& respond) {
    InboundResponse response = echo(request);
    if (request.body == "much") {
      response.body = body;
    }
    respond(std::move(response));
  });
  constexpr int kReceiveBufferBytes = 4096;
  RawConnection peer(server.server->port(), kReceiveBufferBytes);
  for (int round = 0; round < 2; ++round) {
    peer.send(post("little") + post("much"));
    CHECK(peer.receiveMessage().ends_with("\r\n\r\nlittle"));
    CHECK(peer.receiveMessage().ends_with("\r\n\r\n" + body));
  }
}

TEST_CASE("A connection is closed when its peer asks for that") {
  Server server;
  RawConnection peer = server.connect();
  peer.send(post("1", "Connection: close\r\n"));
  CHECK(peer.receiveAll().ends_with("\r\n\r\n1"));
}

TEST_CASE("A chunked body arrives whole") {
  Server server;
  RawConnection peer = server.connect();
  peer.send("POST /inbox HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n3\r\na\":\r\n");
  peer.send("2\r\n1}\r\n0\r\n\r\n");
  CHECK(peer.receiveMessage().ends_with("{\"a\":1}"));
}

TEST_CASE("Only posts to the inbox are taken") {
  Server server;
  const auto ask = [&](const std::string& bytes) {
    RawConnection peer = server.connect();
    peer.send(bytes);
    return peer.receiveAll();
  };
  CHECK(hasStatus(ask("POST /other HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n"), 404));
  CHECK(hasStatus(ask("POST /inbox/more HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n"), 404));
  const std::string got = ask("GET /inbox HTTP/1.1\r\nHost: here\r\n\r\n");
  CHECK(hasStatus(got, 405));
  CHECK(got.find("Allow: POST\r\n") != std::string::npos);
  CHECK(got.find("application/problem+json") != std::string::npos);
  CHECK(ask("HEAD /inbox HTTP/1.1\r\nHost: here\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_CASE("P11: what is no request, or two requests in one, gets a 400") {
  Server server;
  for (const char* bytes :
       {"garbage\r\n\r\n", "POST /inbox HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        "POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: -5\r\n\r\n",
        "POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /inbox HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip\r\n\r\nPOST /inbox HTTP/1.1\r\n\r\n"}) {
    CAPTURE(bytes);
    RawConnection peer = server.connect();
    peer.send(bytes);
    const std::string got = peer.receiveAll();
    CHECK(hasStatus(got, 400));
    CHECK(got.find("}HTTP/1.1") == std::string::npos);
  }
}

TEST_CASE("P11: a body of ten gigabytes is refused by its announcement") {
  Server server;
  RawConnection peer = server.connect();
  peer.send("POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 10000000000\r\n\r\n");
  const std::string got = peer.receiveAll();
  CHECK(hasStatus(got, 413));
  CHECK(got.find("\"maxbytes\":1000") != std::string::npos);
}

TEST_CASE("P11: a body that grows past the limit in chunks is refused") {
  Server server;
  RawConnection peer = server.connect();
  peer.sendWhileTaken("POST /inbox HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                      std::string(2000, 'x'));
  CHECK(hasStatus(peer.receiveAll(), 413));
}

TEST_CASE("P11: the extension of a chunk, and the trailers after the last one, are cut like headers") {
  Server server;
  for (const char* begin : {"1;a=", "0;a=", "0\r\nA: ", "2\r\n{}\r\n0\r\nA: "}) {
    CAPTURE(begin);
    RawConnection peer = server.connect();
    peer.sendWhileTaken(std::string("POST /inbox HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n") +
                        begin + std::string(std::size_t{200} * 1024, 'x'));
    CHECK(hasStatus(peer.receiveAll(), 431));
  }
}

TEST_CASE("A refusal reaches a peer that writes its whole body before it reads") {
  Server server;
  RawConnection peer = server.connect();
  peer.send(post(std::string(8 * 1024 * 1024, 'x')));
  CHECK(hasStatus(peer.receiveMessage(), 413));
}

TEST_CASE("A peer that asks before it sends the body is told to go on, or not to") {
  Server server;
  RawConnection willing = server.connect();
  willing.send("POST /inbox HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(willing.receiveMessage() == "HTTP/1.1 100 Continue\r\n\r\n");
  willing.send("{}");
  CHECK(willing.receiveMessage().ends_with("\r\n\r\n{}"));

  RawConnection large = server.connect();
  large.send("POST /inbox HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 2000\r\n\r\n");
  CHECK(hasStatus(large.receiveMessage(), 413));

  RawConnection strange = server.connect();
  strange.send("POST /inbox HTTP/1.1\r\nHost: here\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n");
  CHECK(hasStatus(strange.receiveMessage(), 417));
}

TEST_CASE("P11: a flood of headers is cut") {
  Server server;
  RawConnection peer = server.connect();
  std::string flood = "POST /inbox HTTP/1.1\r\nHost: here\r\n";
  while (flood.size() < std::size_t{100} * 1024) {
    flood += "A: " + std::string(100, 'x') + "\r\n";
  }
  peer.sendWhileTaken(flood);
  CHECK(hasStatus(peer.receiveAll(), 431));
}

TEST_CASE("hostile: a connection that says nothing, or too little: closed in time") {
  InboundServerOptions options;
  options.idleTimeout = kShort;
  options.requestTimeout = kShort;
  Server server(options);
  RawConnection silent = server.connect();
  CHECK(silent.receiveAll().empty());
  RawConnection slow = server.connect();
  slow.send("POST /inbox HTTP/1.1\r\nHost: h");
  CHECK(slow.receiveAll().empty());
  RawConnection half = server.connect();
  half.send("POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n12345");
  CHECK(half.receiveAll().empty());
}

TEST_CASE("P11: dripping bytes does not stretch a request's time") {
  InboundServerOptions options;
  options.requestTimeout = kShort;
  Server server(options);
  RawConnection peer = server.connect();
  peer.send("POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n");
  // A thousand drops would take five seconds; the connection is gone long before.
  for (int drops = 0; drops < 1000 && !peer.hasNewsWithin(std::chrono::milliseconds(5)); ++drops) {
    peer.send("x");
  }
  CHECK(peer.receiveAll().empty());
}

TEST_CASE("P11: a request's time goes on behind a header that came in pieces") {
  InboundServerOptions options;
  options.requestTimeout = kShort;
  Server server(options);
  // Several connections, as the server may read both pieces at once.
  std::vector<RawConnection> peers;
  for (int number = 0; number < 20; ++number) {
    peers.push_back(server.connect());
    peers.back().send("POST /inbox HTTP/1.1\r\nHost: here\r\n");
    peers.back().awaitDelivery();
  }
  for (RawConnection& peer : peers) {
    peer.send("Content-Length: 10\r\n\r\n12345");
  }
  for (RawConnection& peer : peers) {
    REQUIRE(peer.receiveAll().empty());
  }
}

TEST_CASE("P11: bodies that arrive at once have as many give way as the bytes of all demand, not one a turn") {
  constexpr std::size_t kBody = std::size_t{256} * 1024;
  boost::asio::io_context context;
  const auto runAll = [&context] {
    for (int quiet = 0; quiet<1000; quiet = context.poll()> 0 ? 0 : quiet + 1) {
      context.restart();
      std::this_thread::yield();
    }
  };
  InboundServerOptions options;
  options.requestBytesMax = 2 * kBody;
  const auto server = std::make_shared<HttpServer>(
      context.get_executor(), options,
      RequestSink{.handle = [](const InboundRequest&, const RequestSink::Respond&) {}, .bodyBytesMax = kBody},
      systemClock(), Threads::one);
  server->start();
  std::vector<RawConnection> peers;
  for (int number = 0; number < 32; ++number) {
    peers.emplace_back(server->port());
  }
  runAll();
  const std::string request = post(std::string(kBody, ' '));
  for (RawConnection& peer : peers) {
    peer.send(std::string_view(request).substr(0, request.size() - 1));
  }
  runAll();
  const auto held = std::ranges::count_if(
      peers, [](const RawConnection& peer) { return !peer.hasNewsWithin(std::chrono::milliseconds(0)); });
  CHECK(held <= 2);
  server->stop();
  runAll();
}

TEST_CASE("A handler that does not answer in time is answered for, and its late answer goes nowhere") {
  InboundServerOptions options;
  options.requestTimeout = kShort;
  Held held;
  Server server(options, held);
  RawConnection peer = server.connect();
  peer.send(post("1"));
  auto [request, respond] = held.take();
  CHECK(hasStatus(peer.receiveAll(), 503));
  respond(echo(request));
}

TEST_CASE("A handler that throws costs its own connection, not the server") {
  bool isFirst = true;
  Server server({}, [&](InboundRequest request, RequestSink::Respond respond) {
    if (std::exchange(isFirst, false)) {
      // Deliberately not a std::exception.
      throw "a handler's mistake";
    }
    respond(echo(request));
  });
  RawConnection first = server.connect();
  first.send(post("1"));
  const std::string got = first.receiveAll();
  CHECK(hasStatus(got, 500));
  CHECK(got.find("mistake") == std::string::npos);
  RawConnection second = server.connect();
  second.send(post("2"));
  CHECK(hasStatus(second.receiveMessage(), 200));
}

TEST_CASE("An answer to a peer that is gone goes nowhere") {
  Held held;
  Server server({}, held);
  {
    RawConnection peer = server.connect();
    peer.send(post("1"));
    auto item = held.take();
    peer.reset();
    item.second(echo(item.first));
  }
  RawConnection next = server.connect();
  next.send(post("2"));
  CHECK(held.take().first.body == "2");
}

TEST_CASE(
    "hostile: connections beyond the limit while all others are at work: wait outside, and are served as those end") {
  InboundServerOptions options;
  options.connectionsMax = 2;
  Held held;
  Server server(options, held);
  RawConnection first = server.connect();
  RawConnection second = server.connect();
  first.send(post("1"));
  second.send(post("2"));
  auto one = held.take();
  auto two = held.take();
  RawConnection third = server.connect();
  third.send(post("3"));
  CHECK(held.size() == 0);
  first.close();
  second.close();
  one.second(echo(one.first));
  two.second(echo(two.first));
  auto three = held.take();
  CHECK(three.first.body == "3");
  three.second(echo(three.first));
  CHECK(hasStatus(third.receiveMessage(), 200));
}

TEST_CASE("hostile: connections on every place that were served before, and stay: the oldest gives way, at once") {
  InboundServerOptions options;
  options.connectionsMax = 2;
  Server server(options);
  RawConnection first = server.connect();
  RawConnection second = server.connect();
  for (RawConnection* connection : {&first, &second}) {
    connection->send(post("1"));
    CHECK(hasStatus(connection->receiveMessage(), 200));
  }
  RawConnection third = server.connect();
  third.send(post("3"));
  CHECK(hasStatus(third.receiveMessage(), 200));
  CHECK(first.receiveAll().empty());
  second.send(post("2"));
  CHECK(hasStatus(second.receiveMessage(), 200));
}

TEST_CASE("Stopping answers the request under way, closes idle connections, and frees the port at once") {
  Held held;
  Server server({}, held);
  RawConnection idle = server.connect();
  idle.send(post("0"));
  auto earlier = held.take();
  earlier.second(echo(earlier.first));
  idle.receiveMessage();
  RawConnection busy = server.connect();
  busy.send(post("1"));
  auto item = held.take();

  server.server->stop();
  server.server->stop();
  CHECK(idle.receiveAll().empty());
  CHECK_THROWS_AS(RawConnection(server.server->port()), std::system_error);
  InboundServerOptions same;
  same.port = server.server->port();
  CHECK_NOTHROW(Server{same});

  item.second(echo(item.first));
  const std::string got = busy.receiveAll();
  CHECK(hasStatus(got, 200));
  CHECK(got.find("Connection: close\r\n") != std::string::npos);
  server.io.finish();
}

TEST_CASE("A request that has only begun when the server is stopped is still answered") {
  Held held;
  Server server({}, held);
  RawConnection peer = server.connect();
  peer.send("POST /inbox HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  // The interim answer shows that the server is in the middle of the request.
  peer.receiveMessage();
  server.server->stop();
  peer.send("1");
  auto item = held.take();
  item.second(echo(item.first));
  CHECK(peer.receiveAll().ends_with("\r\n\r\n1"));
}

TEST_CASE("Of the descriptors that a process may have, a server leaves a quarter, and at most 256, to the others") {
  CHECK(connectionsWithin(1024) == 768);
  CHECK(connectionsWithin(100'000) == 100'000 - 256);
  CHECK(connectionsWithin(64) == 48);
  CHECK(connectionsWithin(0) == 1);
  Server server({.connectionsMax = 2});
  CHECK(server.server->stats().connectionsMax == 2);
  Server unlimited({.connectionsMax = std::numeric_limits<std::size_t>::max()});
  CHECK(unlimited.server->stats().connectionsMax == connectionsWithin(descriptorLimit()));
}

TEST_CASE("Whether this process can open another descriptor is seen by trying") {
  CHECK_FALSE(isOutOfDescriptors());
  bool isOut = false;
  {
    const testing::ResourceLimit none(RLIMIT_NOFILE, 0);
    isOut = isOutOfDescriptors();
  }
  CHECK(isOut);
  CHECK_FALSE(isOutOfDescriptors());
}

TEST_CASE("A server that cannot listen says so") {
  Server first;
  InboundServerOptions taken;
  taken.port = first.server->port();
  const auto code = [&](const InboundServerOptions& options) {
    try {
      const Server second(options);
    } catch (const Error& error) {
      return error.code();
    }
    return std::error_code();
  };
  CHECK((code(taken) == Errc::cannotListen));
  CHECK((code({.address = "192.0.2.1", .allowPlainHttp = true}) == Errc::cannotListen));
  CHECK((code({.address = "localhost"}) == Errc::invalidOption));
  CHECK((code({.path = "inbox"}) == Errc::invalidOption));
  CHECK((code({.connectionsMax = 0}) == Errc::invalidOption));
  CHECK((code({.headerBytesMax = 1023}) == Errc::invalidOption));
  CHECK((code({.headerBytesMax = 16 * 1024 + 1}) == Errc::invalidOption));
  CHECK((code({.requestBytesMax = 2 * kBodyBytesMax - 1}) == Errc::invalidOption));
  CHECK((code({.writeTimeout = std::chrono::milliseconds(0)}) == Errc::invalidOption));
  CHECK((code({.connectionAge = std::chrono::milliseconds(0)}) == Errc::invalidOption));
  CHECK((code({.idleTimeout = std::chrono::seconds(0)}) == Errc::invalidOption));
}

TEST_CASE("A socket file whose listener accepts nobody any more is taken: the start says so, and waits for nobody") {
  const testing::TempDir dir;
  const std::string path = dir.file("s").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  auto* const plain = std::bit_cast<sockaddr*>(&address);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(listener, plain, sizeof address) == 0);
  REQUIRE(::listen(listener, 0) == 0);
  // Connects until its queue is full.
  std::vector<int> waiting;
  do {
    waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (waiting.size() < 100 && ::connect(waiting.back(), plain, sizeof address) == 0);
  CHECK_THROWS_AS(Server({.address = "unix:" + path}), Error);
  CHECK(std::filesystem::exists(path));
  for (const int one : waiting) {
    ::close(one);
  }
  ::close(listener);
  // A socket file that a killed process left behind is replaced.
  CHECK_NOTHROW(Server({.address = "unix:" + path}));
}

TEST_CASE("P11: a server that is given a part of what TLS needs does not go on without encryption: it is refused") {
  const auto refusal = [](TlsServerOptions tls) {
    InboundServerOptions options;
    options.tls = std::move(tls);
    try {
      const Server server(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal({.keyFile = "key.pem"}).find("tls.certificateFile") != std::string::npos);
  CHECK(refusal({.clientAuthorityFile = "authority.pem"}).find("tls.certificateFile") != std::string::npos);
  CHECK(refusal({.crlFile = "revoked.pem"}).find("tls.certificateFile") != std::string::npos);
}

}  // namespace
}  // namespace ackbox::transport::http_server_test
