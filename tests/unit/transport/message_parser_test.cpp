// Goal: a message's headers are only those before its body, its body takes memory only for received bytes, and no size
// of a part causes an exception. Method: the parser alone, fed with bytes as by a connection.

#include "transport/message_parser.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace ackbox::transport::message_parser_test {
namespace {

using Request = MessageParser<true>;
namespace http = boost::beast::http;

constexpr std::size_t kMib = std::size_t{1024} * 1024;
const std::string kHead = "POST /inbox HTTP/1.1\r\nHost: here\r\n";

/// Feeds all bytes; stops at the message's end, or with an error.
boost::system::error_code feed(Request& parser, std::string_view bytes) {
  boost::system::error_code error;
  while (!bytes.empty() && !error && !parser.is_done()) {
    bytes.remove_prefix(parser.take(boost::asio::buffer(bytes), error));
  }
  return error;
}

TEST_CASE("A header is found in any case of letters, as often as it occurs, in the order in which it came") {
  Request parser(8192, kMib);
  CHECK_FALSE(feed(parser, kHead + "A: 1\r\nB:\r\na:  2 \r\nContent-Length: 2\r\n\r\n{}"));
  CHECK(parser.method() == http::verb::post);
  CHECK(parser.target() == "/inbox");
  CHECK(parser.version() == 11);
  CHECK(parser["HOST"] == "here");
  CHECK(parser.count("A") == 2);
  CHECK(parser["a"] == "1");
  CHECK(parser.count("b") == 1);
  CHECK(parser["b"].empty());
  CHECK(parser.count("c") == 0);
  REQUIRE(parser.fields() == 5);
  CHECK(parser.field(3).name == "a");
  CHECK(parser.field(3).value == "2");
  CHECK(parser.body() == "{}");
}

TEST_CASE("P11: trailers are dropped, whatever their size: only a buffer limits them") {
  Request parser(8192, kMib);
  CHECK_FALSE(feed(parser, kHead + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nHost: there\r\nA: " +
                               std::string(100'000, 'x') + "\r\n\r\n"));
  CHECK(parser.is_done());
  CHECK(parser.fields() == 2);
  CHECK(parser["host"] == "here");
  CHECK(parser.body() == "{}");
}

TEST_CASE("P11: a header that is folded is refused, and a body that looks like one is not") {
  for (const char* fold : {"A: b\r\n c\r\n\r\n", "A: b\r\n\tc\r\n\r\n", "A:\r\n b\r\n\r\n"}) {
    Request parser(8192, kMib);
    CHECK(feed(parser, kHead + fold) == http::error::bad_value);
  }
  Request parser(8192, kMib);
  CHECK_FALSE(feed(parser, kHead + "Content-Length: 8\r\n\r\nA: b\r\n c"));
  CHECK(parser.body() == "A: b\r\n c");
}

TEST_CASE("P11: a body takes memory for at most twice what has come of it, whatever was announced") {
  Request parser(8192, kMib);
  CHECK_FALSE(feed(parser, kHead + "Content-Length: 100000\r\n\r\n"));
  const std::string piece(1000, 'x');
  for (std::size_t come = 1000; come <= 100'000; come += 1000) {
    CHECK_FALSE(feed(parser, piece));
    CHECK(parser.body().size() == come);
    CHECK(parser.body().capacity() <= 2 * come);
  }
  CHECK(parser.is_done());
}

TEST_CASE("P11: a body beyond the limit is refused when it is announced, or when it has become so") {
  Request announced(8192, 1000);
  CHECK(feed(announced, kHead + "Content-Length: 1001\r\n\r\n") == http::error::body_limit);
  Request grown(8192, 1000);
  CHECK(feed(grown, kHead + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\nx") ==
        http::error::body_limit);
}

}  // namespace
}  // namespace ackbox::transport::message_parser_test
