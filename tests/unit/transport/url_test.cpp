// Goal: a configured URL means exactly one host, port and target, or is refused with a sentence that helps.
// Method: a table of texts and results.

#include "transport/url.hpp"

#include <doctest/doctest.h>

namespace ackbox::transport::url_test {
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
  CHECK(accepted("http://[FD00::Aa]/").host == "FD00::Aa");
  CHECK(accepted("http://[2001:db8::0.0.0.9]/").host == "2001:db8::0.0.0.9");
  CHECK_FALSE(parseUrl("http://::1/inbox").url);
  CHECK_FALSE(parseUrl("http://[::1/inbox").url);
  CHECK_FALSE(parseUrl("http://[::1]x/inbox").url);
  CHECK_FALSE(parseUrl("http://[localhost]/inbox").url);
}

TEST_CASE("P11: what begins with https is encrypted, on its own port unless another is named, and nothing else is") {
  const Url secure = parseUrl("HTTPS://bob.example/inbox").url.value();
  CHECK(secure.isEncrypted);
  CHECK(secure.port == 443);
  CHECK(secure.target == "/inbox");
  CHECK(parseUrl("https://[::1]:8443").url.value().port == 8443);
  CHECK_FALSE(parseUrl("http://bob.example:443/").url.value().isEncrypted);
}

TEST_CASE("P11: a query of a URL that is refused, which may hold a secret, is not repeated") {
  CHECK(parseUrl("ftp://host/path?key=secret").error.starts_with("URL 'ftp://host/path': "));
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
}  // namespace ackbox::transport::url_test
