// Goal: every way in which a POST can end is distinguished, reported once, and within its time. Method: the client
// talks over loopback to a scripted peer that speaks, stammers, breaks off or keeps silent; each test reads as the
// conversation on the wire.

#include "transport/http_client.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>

#include <future>
#include <thread>

#include "support/reserved_port.hpp"
#include "transport/connection_budget.hpp"
#include "transport/connection_pool.hpp"
#include "transport/http_exchange.hpp"
#include "transport/stream.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::transport::http_client_test {
namespace {

using testing::RawConnection;
using testing::RawServer;

constexpr std::chrono::milliseconds kPatience(10'000);
// Short enough not to delay the tests in which it is meant to expire.
constexpr std::chrono::milliseconds kShort(100);

std::string answer(const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A script that reads one request and sends `bytes`.
RawServer::Script saying(std::string bytes) {
  return [bytes = std::move(bytes)](RawConnection& connection) {
    connection.receiveMessage();
    connection.send(bytes);
  };
}

// A connection that accepts all bytes, counts its operations, and never answers.
class CountingStream final : public Stream {
public:
  explicit CountingStream(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  executor_type get_executor() override { return executor_; }
  void asyncHandshake(std::function<void(std::string failure)> done) override { done({}); }
  void asyncFinish(std::function<void()> done) override { done(); }
  void asyncDiscardSome(boost::asio::mutable_buffer /*buffer*/, Transferred done) override {
    reading_.emplace(std::move(done));
  }
  void asyncAwaitInput(std::function<void()> /*done*/) override {}
  bool isQuiet() override { return true; }
  bool hasEnded() override { return false; }
  void close() override {
    if (reading_) {
      boost::asio::post(executor_,
                        [done = std::move(*reading_)]() mutable { done(boost::asio::error::operation_aborted, 0); });
      reading_.reset();
    }
  }

  std::size_t writes = 0;
  std::string written;

protected:
  void readSome(boost::asio::mutable_buffer /*buffer*/, Transferred done) override {
    reading_.emplace(std::move(done));
  }
  void writeSome(const ConstBuffers& buffers, std::size_t count, Transferred done) override {
    ++writes;
    const std::size_t before = written.size();
    for (std::size_t place = 0; place < count; ++place) {
      const boost::asio::const_buffer& buffer = buffers.at(place);
      written.append(static_cast<const char*>(buffer.data()), buffer.size());
    }
    boost::asio::post(executor_,
                      [done = std::move(done), bytes = written.size() - before]() mutable { done(Error(), bytes); });
  }

private:
  const executor_type executor_;
  // Boost 1.81 cannot assign a handler to another.
  std::optional<Transferred> reading_;
};

struct Client {
  explicit Client(HttpSenderOptions options = {}) {
    options.clock = systemClock();
    client = std::make_shared<HttpClient>(io.executor(), std::make_shared<const HttpSenderOptions>(std::move(options)));
  }
  ~Client() { client->close(); }

  std::future<HttpAnswer> begin(const std::string& url, const std::string& body = "{}",
                                std::chrono::milliseconds timeout = kPatience) {
    HttpPost post;
    post.url = parseUrl(url).url.value();
    post.headers = {{"content-type", "application/json"}, {"webhook-id", "id-1"}};
    post.body = body;
    post.timeout = timeout;
    auto promise = std::make_shared<std::promise<HttpAnswer>>();
    // A second call would throw from the promise and end the test.
    client->asyncPost(std::move(post), [promise](HttpAnswer given) { promise->set_value(std::move(given)); });
    return promise->get_future();
  }
  HttpAnswer post(const std::string& url, const std::string& body = "{}",
                  std::chrono::milliseconds timeout = kPatience) {
    return begin(url, body, timeout).get();
  }

  testing::IoThread io;
  std::shared_ptr<HttpClient> client;
};

TEST_CASE("A request goes out with its headers and the answer comes back whole") {
  std::string seen;
  RawServer peer({[&](RawConnection& connection) {
    seen = connection.receiveMessage();
    connection.send(answer("{\"ok\":true}", "Retry-After: 7\r\n"));
  }});
  Client client;
  const HttpAnswer got = client.post(peer.url("/in?x=1"), "[1,2]");
  CHECK(peer.finish().empty());
  CHECK(got.end == HttpEnd::answered);
  CHECK(got.status == 200);
  CHECK(got.contentType == "application/json");
  CHECK(got.retryAfter == "7");
  CHECK(got.body == "{\"ok\":true}");
  CHECK(seen.starts_with("POST /in?x=1 HTTP/1.1\r\n"));
  CHECK(seen.find("Host: 127.0.0.1:" + std::to_string(peer.port()) + "\r\n") != std::string::npos);
  CHECK(seen.find("webhook-id: id-1\r\n") != std::string::npos);
  CHECK(seen.ends_with("\r\n\r\n[1,2]"));
}

TEST_CASE("A name is resolved") {
  RawServer peer({saying(answer("1"))});
  Client client;
  CHECK(client.post("http://localhost:" + std::to_string(peer.port()) + "/").end == HttpEnd::answered);
}

TEST_CASE("P8: a name that cannot be resolved is the peer's absence, and the error says what was looked for") {
  Client client;
  // A label of this length is invalid, so no name server is asked.
  const std::string name(64, 'a');
  const HttpAnswer got = client.post("http://" + name + "/");
  CHECK(got.end == HttpEnd::unavailable);
  CHECK(got.error.find("resolving " + name) != std::string::npos);
}

TEST_CASE("Requests in turn use one connection") {
  RawServer peer({[](RawConnection& connection) {
    for (const char* body : {"1", "2", "3"}) {
      connection.receiveMessage();
      connection.send(answer(body));
    }
  }});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  CHECK(client.post(peer.url()).body == "2");
  CHECK(client.post(peer.url()).body == "3");
  CHECK(peer.finish().empty());
}

TEST_CASE("A connection that the peer wants closed, or that carries more than the answer, is not used again") {
  RawServer peer(
      {saying(answer("1", "Connection: close\r\n")), saying(answer("2") + "HTTP/1.1 200 OK\r\n"), saying(answer("3"))});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  CHECK(client.post(peer.url()).body == "2");
  CHECK(client.post(peer.url()).body == "3");
  CHECK(peer.finish().empty());
}

TEST_CASE("P8: a refused connection is the peer's absence") {
  Client client;
  const HttpAnswer got = client.post(testing::ReservedPort().url());
  CHECK(got.end == HttpEnd::unavailable);
  CHECK(got.error.find("refused") != std::string::npos);
}

TEST_CASE("P8: a connection that breaks before the answer, or in its middle, is a loss") {
  RawServer peer({[](RawConnection& connection) { connection.receiveMessage(); },
                  [](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.reset();
                  },
                  saying("HTTP/1.1 200 OK\r\nContent-Le"),
                  saying("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")});
  Client client;
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(peer.finish().empty());
}

TEST_CASE("A kept connection that the peer closed meanwhile is replaced, and the request is made once") {
  std::promise<void> closed;
  RawServer peer({[&](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send(answer("1"));
                    connection.close();
                    closed.set_value();
                  },
                  saying(answer("2"))});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  closed.get_future().wait();
  CHECK(client.post(peer.url()).body == "2");
  CHECK(peer.finish().empty());
}

TEST_CASE("A kept connection that the peer closes while the request is on its way is replaced once, silently") {
  RawServer peer({[](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send(answer("1"));
                    // The close crosses the next request, as closely as a test can reproduce the race.
                    connection.receiveMessage();
                    connection.close();
                  },
                  saying(answer("2"))});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  CHECK(client.post(peer.url()).body == "2");
  CHECK(peer.finish().empty());
}

TEST_CASE("A kept connection that breaks after the answer has begun is a loss, and so is the second connection") {
  RawServer peer({[](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send(answer("1"));
                    connection.receiveMessage();
                    connection.send("HTTP/1.1 2");
                  },
                  [](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send(answer("3"));
                    connection.receiveMessage();
                  },
                  [](RawConnection& connection) { connection.receiveMessage(); }});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(client.post(peer.url()).body == "3");
  CHECK(client.post(peer.url()).end == HttpEnd::connectionLost);
  CHECK(peer.finish().empty());
}

TEST_CASE("P8: an answer that never comes, and one that never ends, are cut by the timeout") {
  const auto drip = [](RawConnection& connection) {
    connection.receiveMessage();
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    try {
      while (true) {
        connection.send("1\r\nx\r\n");
        std::this_thread::yield();
      }
    } catch (const std::exception&) {
      // The client closed the connection.
    }
  };
  RawServer peer({[](RawConnection& connection) { connection.receiveAll(); }, drip});
  Client client;
  for (int round = 0; round < 2; ++round) {
    const HttpAnswer got = client.post(peer.url(), "{}", kShort);
    CHECK(got.end == HttpEnd::unavailable);
    CHECK(got.isAtPeer);
  }
  CHECK(peer.finish().empty());
}

TEST_CASE("P11: an oversized answer is cut, whether it is announced, chunked, endless or all headers") {
  HttpSenderOptions options;
  options.responseBytesMax = 1000;
  options.headerBytesMax = 1024;
  const std::string big(2000, 'x');
  const std::string huge(std::size_t{200} * 1024, 'x');
  RawServer peer({saying("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"),
                  saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + big),
                  saying("HTTP/1.1 200 OK\r\n\r\n" + big), saying("HTTP/1.1 200 OK\r\nA: " + big),
                  saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=" + huge),
                  saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + huge)});
  Client client(options);
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    const HttpAnswer got = client.post(peer.url());
    CHECK(got.end == HttpEnd::unavailable);
    // In one round only headers have come.
    CHECK(got.isAtPeer == (round != 3));
    CHECK(got.body.empty());
  }
  CHECK(peer.finish().empty());
}

TEST_CASE("P11: garbage is no answer") {
  RawServer peer({saying("SSH-2.0-OpenSSH_9.2\r\n\r\n"), saying(std::string("\0\x01\x02\xff\r\n\r\n", 8)),
                  saying("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")});
  Client client;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    const HttpAnswer got = client.post(peer.url());
    CHECK(got.end == HttpEnd::unavailable);
    CHECK_FALSE(got.isAtPeer);
  }
  CHECK(peer.finish().empty());
}

TEST_CASE("A redirect is an answer like any other and is not followed") {
  RawServer peer({[](RawConnection& connection) {
    connection.receiveMessage();
    connection.send("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    CHECK(connection.receiveMessage().starts_with("POST /second"));
    connection.send(answer("2"));
  }});
  Client client;
  CHECK(client.post(peer.url()).status == 307);
  CHECK(client.post(peer.url("/second")).body == "2");
  CHECK(peer.finish().empty());
}

TEST_CASE("An interim answer is passed over") {
  RawServer peer({saying("HTTP/1.1 102 Processing\r\n\r\n" + answer("1"))});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
}

TEST_CASE("hostile: interim answers without end: sixteen are passed over, at one more the exchange ends") {
  const auto interim = [](int count) {
    std::string all;
    for (int number = 0; number < count; ++number) {
      all += "HTTP/1.1 102 Processing\r\n\r\n";
    }
    return all + answer("1");
  };
  RawServer peer({saying(interim(16)), saying(interim(17))});
  Client client;
  CHECK(client.post(peer.url()).body == "1");
  const HttpAnswer got = client.post(peer.url());
  CHECK(got.end == HttpEnd::unavailable);
  CHECK(got.error.find("interim") != std::string::npos);
}

TEST_CASE("hostile: a status below 100, which is neither an answer nor announces one: no answer, at once") {
  // Its body extends to the end of the stream, which comes without a close.
  const auto finishing = [](RawConnection& connection) {
    connection.receiveMessage();
    connection.send("HTTP/1.1 099 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le");
    ::shutdown(connection.descriptor(), SHUT_WR);
    CHECK(connection.receiveAll().empty());
  };
  RawServer peer({finishing, saying("HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n" + answer("1"))});
  Client client;
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    const HttpAnswer got = client.post(peer.url());
    CHECK(got.end == HttpEnd::unavailable);
    CHECK(got.error.find("status") != std::string::npos);
  }
  CHECK(peer.finish().empty());
}

TEST_CASE("An answer that comes before the request was read to its end is heard") {
  RawServer peer({[](RawConnection& connection) {
    connection.receiveUntil("\r\n\r\n");
    connection.send("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }});
  Client client;
  CHECK(client.post(peer.url(), std::string(8 * 1024 * 1024, 'x')).status == 413);
}

TEST_CASE("A request larger than what a connection takes at once arrives whole, and the connection is used again") {
  std::string body;
  for (int number = 0; body.size() < std::size_t{8} * 1024 * 1024; ++number) {
    body += std::to_string(number);
  }
  std::string seen;
  RawServer peer({[&](RawConnection& connection) {
    for (const char* each : {"1", "2"}) {
      seen = connection.receiveMessage();
      connection.send(answer(each));
    }
  }});
  Client client;
  CHECK(client.post(peer.url(), "small").body == "1");
  CHECK(client.post(peer.url(), body).body == "2");
  CHECK(peer.finish().empty());
  CHECK(seen.ends_with("\r\n\r\n" + body));
}

TEST_CASE("An idle connection is closed after its time") {
  HttpSenderOptions options;
  options.idleTimeout = kShort;
  std::promise<void> closed;
  RawServer peer({[&](RawConnection& connection) {
    connection.receiveMessage();
    connection.send(answer("1"));
    CHECK(connection.receiveAll().empty());
    closed.set_value();
  }});
  Client client(options);
  CHECK(client.post(peer.url()).body == "1");
  CHECK(closed.get_future().wait_for(kPatience) == std::future_status::ready);
}

TEST_CASE("Closing ends each pending request exactly once, and later ones at once") {
  std::promise<void> arrived;
  RawServer peer({[&](RawConnection& connection) {
    connection.receiveMessage();
    arrived.set_value();
    connection.receiveAll();
  }});
  Client client;
  std::future<HttpAnswer> waiting = client.begin(peer.url());
  arrived.get_future().wait();
  std::future<HttpAnswer> connecting = client.begin(peer.url());
  client.client->close();
  client.client->close();
  std::future<HttpAnswer> late = client.begin(peer.url());
  CHECK(waiting.get().end == HttpEnd::cancelled);
  CHECK(connecting.get().end == HttpEnd::cancelled);
  CHECK(late.get().end == HttpEnd::cancelled);
  client.io.finish();
  CHECK(peer.finish().empty());
}

}  // namespace
TEST_CASE("a request leaves in one write, with all headers that a sender gives it and its body") {
  boost::asio::io_context context;
  auto options = std::make_shared<HttpSenderOptions>();
  options->clock = systemClock();
  const auto pool = std::make_shared<ConnectionPool>(context.get_executor(), options->clock, kPatience, kPatience);
  const auto budget =
      std::make_shared<ConnectionBudget>(context.get_executor(), options->clock, 1, [] { return false; });
  const auto stream = std::make_shared<CountingStream>(context.get_executor());
  HttpPost post;
  post.url = parseUrl("http://127.0.0.1:9/inbox").url.value();
  for (const char* name : {"content-type", "user-agent", "outbox-version", "outbox-agent", "webhook-id",
                           "webhook-timestamp", "webhook-signature", "traceparent"}) {
    post.headers.emplace_back(name, "value");
  }
  post.body = std::string(1000, 'b');
  post.timeout = kPatience;
  pool->give(post.url.authority(), {.stream = stream, .bornAt = options->clock->steadyNow()});
  std::optional<HttpAnswer> ended;
  const auto exchange = makeHttpExchange(context.get_executor(), options, pool, budget, std::move(post),
                                         [&ended](HttpAnswer given) { ended = std::move(given); });
  exchange->start();
  while (!stream->written.ends_with("bbb") && context.run_one() != 0) {
  }
  CHECK(stream->writes == 1);
  CHECK(stream->written.starts_with("POST /inbox HTTP/1.1\r\n"));
  exchange->cancel();
  pool->close();
  context.run();
  REQUIRE(ended);
  CHECK(ended->end == HttpEnd::cancelled);
}

}  // namespace ackbox::transport::http_client_test
