// Goal: a configured URL means exactly one host, port and target, or is refused with a sentence that helps.
// Method: values in, values out.

#include "transport/url.hpp"

#include <doctest/doctest.h>

namespace ackbox::transport {
namespace {

Url accepted(std::string_view text) {
  const ParsedUrl parsed = parseUrl(text);
  REQUIRE_MESSAGE(parsed.url, parsed.error);
  return *parsed.url;
}

TEST_CASE("A URL names host, port and target, and lacks what may be lacking") {
  const Url whole = accepted("http://agents.example:8080/inbox/a?b=c");
  CHECK(whole.host == "agents.example");
  CHECK(whole.port == 8080);
  CHECK(whole.target == "/inbox/a?b=c");
  CHECK(whole.authority() == "agents.example:8080");

  const Url bare = accepted("HTTP://localhost");
  CHECK(bare.host == "localhost");
  CHECK(bare.port == 80);
  CHECK(bare.target == "/");

  CHECK(accepted("http://localhost?a").target == "/?a");
}

TEST_CASE("An IPv6 address stands in brackets, and only there") {
  const Url url = accepted("http://[::1]:81/inbox");
  CHECK(url.host == "::1");
  CHECK(url.port == 81);
  CHECK(url.authority() == "[::1]:81");
  CHECK_FALSE(parseUrl("http://::1/inbox").url);
  CHECK_FALSE(parseUrl("http://[::1/inbox").url);
  CHECK_FALSE(parseUrl("http://[::1]x/inbox").url);
  CHECK_FALSE(parseUrl("http://[localhost]/inbox").url);
}

TEST_CASE("P11: https is refused by name rather than sent in the clear") {
  const ParsedUrl parsed = parseUrl("https://localhost/inbox");
  CHECK_FALSE(parsed.url);
  CHECK(parsed.error.find("https is not supported") != std::string::npos);
}

TEST_CASE("P11: a password in a URL is refused and not repeated") {
  const ParsedUrl parsed = parseUrl("http://user:secret@localhost/inbox");
  CHECK_FALSE(parsed.url);
  CHECK(parsed.error.find("secret") == std::string::npos);
}

TEST_CASE("P11: nothing that would change the request line or the host header gets through") {
  for (const char* text :
       {"", "localhost", "ftp://localhost/", "http://", "http:///inbox", "http://:80/", "http://local host/",
        "http://localhost:0/", "http://localhost:65536/", "http://localhost:/", "http://localhost:8x/",
        "http://localhost/a b", "http://localhost/a\r\nx: y", "http://localhost\r\nx: y/", "http://localhost/#part",
        "http://localhost/\x7f", "http://localhost/\xc3\xa4"}) {
    CAPTURE(text);
    CHECK_FALSE(parseUrl(text).url);
  }
  CHECK_FALSE(parseUrl("http://localhost/" + std::string(5000, 'a')).url);
}

}  // namespace
}  // namespace ackbox::transport
