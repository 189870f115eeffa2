// Goal: what is no request, or more than one, or for somewhere else, is refused before anything of it is believed, and
// its connection is closed, so that nothing of it is taken for another request. Method: bytes on a raw connection to an
// agent; the answer, and what took effect. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hostile/target.hpp"

namespace ackbox::testing::server_http_test {
namespace {

const std::string kHead = "POST /inbox HTTP/1.1\r\nHost: here\r\n";

/// Every one of these gets the status, once, and the end of its connection; nothing takes effect, and alice is served.
void allGet(int status, const std::vector<std::string>& attacks) {
  Target bob;
  for (const std::string& attack : attacks) {
    CAPTURE(attack);
    const std::string got = bob.ask(attack);
    CAPTURE(got);
    CHECK(hasStatus(got, status));
    CHECK(got.find("}HTTP/1.1 ") == std::string::npos);
  }
  CHECK(bob.mallorys() == 0);
  CHECK(bob.servesAlice());
}

/// A request that would take effect if it were read as one.
std::string smuggled() {
  return signedRequest(malloryFrame("smuggled"));
}

TEST_CASE("hostile: both Content-Length and Transfer-Encoding: 400, and what follows is not read as a request") {
  const std::string inner = smuggled();
  allGet(400, {kHead + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
               kHead + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + inner,
               kHead + "Content-Length: " + std::to_string(inner.size()) + "\r\nTransfer-Encoding: chunked\r\n\r\n" +
                   "0\r\n\r\n" + inner});
}

TEST_CASE("hostile: two Content-Lengths, different or equal, negative ones, and ones that are no numbers: 400") {
  const std::string inner = smuggled();
  allGet(400, {kHead + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + inner,
               kHead + "Content-Length: 2, 2\r\n\r\n{}" + inner, kHead + "Content-Length: \r\n\r\n" + inner,
               kHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab" + inner,
               kHead + "Content-Length: 1, 2\r\n\r\nab" + inner, kHead + "Content-Length: -5\r\n\r\n" + inner,
               kHead + "Content-Length: +5\r\n\r\nabcde" + inner, kHead + "Content-Length: 0x5\r\n\r\nabcde" + inner,
               kHead + "Content-Length: 99999999999999999999999\r\n\r\n" + inner});
}

TEST_CASE("hostile: a transfer coding other than chunked, or beside it, or chunked in HTTP/1.0: 400") {
  const std::string inner = smuggled();
  allGet(400, {kHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + inner,
               kHead + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
               kHead + "Transfer-Encoding: gzip\r\n\r\n" + inner, kHead + "Transfer-Encoding: xchunked\r\n\r\n" + inner,
               kHead + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + inner,
               "POST /inbox HTTP/1.0\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner});
}

TEST_CASE("hostile: a chunk whose size is no number, or does not fit: 400") {
  const std::string begin = kHead + "Transfer-Encoding: chunked\r\n\r\n";
  allGet(400, {begin + "x\r\n", begin + "-1\r\nab\r\n0\r\n\r\n", begin + "0x2\r\nab\r\n0\r\n\r\n",
               begin + "ffffffffffffffffff\r\n", begin + "2\r\nabc\r\n0\r\n\r\n"});
}

TEST_CASE("hostile: NUL, a bare CR or a bare LF in a header: 400") {
  using namespace std::string_literals;
  allGet(400, {kHead + "A: b\0c\r\n\r\n"s, kHead + "A: b\rc\r\n\r\n", kHead + "A\0: b\r\n\r\n"s,
               kHead + "A: b\nContent-Length: 0\r\n\r\n", "POST /inbox HTTP/1.1\nHost: here\n\n"});
}

TEST_CASE("hostile: a header without a name, with a space in it or without a colon: 400") {
  allGet(400, {kHead + ": b\r\n\r\n", kHead + "Content-Length : 0\r\n\r\n", kHead + "nonsense\r\n\r\n"});
}

TEST_CASE("hostile: a header that is folded over lines, which others read otherwise: 400") {
  std::vector<std::string> attacks;
  for (const char* fold :
       {"A: b\r\n c\r\n", "A: b\r\n\tc\r\n", "A:\r\n c\r\n", "A: b\r\n \r\n", "A: b\r\n Content-Length: 5\r\n"}) {
    attacks.push_back(signedRequest(malloryFrame("a"), "application/cloudevents+json", fold));
  }
  allGet(400, attacks);
}

TEST_CASE("hostile: proof of who one is, in the trailers behind the body: it is none, 401") {
  const std::string whole = signedRequest(malloryFrame("a"));
  const std::size_t begin = whole.find("webhook-id:");
  const std::string proof = whole.substr(begin, whole.find("Content-Length:") - begin);
  const std::string body = malloryFrame("a");
  std::ostringstream size;
  size << std::hex << body.size();
  const std::string head = kHead + "Content-Type: application/cloudevents+json\r\nTransfer-Encoding: chunked\r\n";
  const std::string chunks = "\r\n" + size.str() + "\r\n" + body + "\r\n0\r\n";
  Target bob;
  RawConnection mallory = bob.connect();
  // Where it belongs it is believed.
  mallory.send(head + proof + chunks + "\r\n");
  CHECK(hasStatus(mallory.receiveMessage(), 200));
  mallory.send(head + chunks + proof + "\r\n");
  CHECK(hasStatus(mallory.receiveMessage(), 401));
  // Nor does a trailer take back what the headers said.
  const std::string next = signedRequest(malloryFrame("b"));
  mallory.send(head + proof + chunks + "Connection: close\r\nouTbox-agent: urn:agent:alice\r\n\r\n" + next);
  CHECK(hasStatus(mallory.receiveMessage(), 200));
  CHECK(hasStatus(mallory.receiveMessage(), 200));
  CHECK(bob.mallorys() == 2);
}

TEST_CASE("hostile: no Host header, or two of them, in whatever version: 400") {
  allGet(400,
         {"POST /inbox HTTP/1.0\r\nHost: here\r\nHost: there\r\nContent-Length: 0\r\n\r\n",
          "POST /inbox HTTP/1.1\r\nContent-Length: 0\r\n\r\n", kHead + "Host: there\r\nContent-Length: 0\r\n\r\n"});
}

TEST_CASE("hostile: a header that identifies the request, given twice: 400") {
  std::vector<std::string> attacks;
  for (const char* name : {"webhook-id", "webhook-timestamp", "webhook-signature", "outbox-agent", "content-type"}) {
    attacks.push_back(signedRequest(malloryFrame("a"), "application/cloudevents+json",
                                    std::string(name) + ": a\r\n" + name + ": b\r\n"));
  }
  allGet(400, attacks);
}

TEST_CASE("hostile: what is no HTTP/1.1, from SSH to HTTP/2's preface: 400") {
  using namespace std::string_literals;
  allGet(400, {"garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
               "POST /inbox\r\n\r\n", "POST /inbox HTTP/3.7\r\nHost: here\r\n\r\n", "\0\x01\x02\xff\r\n\r\n"s,
               "POST  /inbox HTTP/1.1\r\nHost: here\r\n\r\n", "POST /in box HTTP/1.1\r\nHost: here\r\n\r\n"});
}

TEST_CASE("hostile: HTTP/1.0: one request is served, and the connection closed behind it") {
  Target bob;
  std::string request = signedRequest(malloryFrame("old"));
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  std::string asking =
      signedRequest(malloryFrame("old-2"), "application/cloudevents+json", "Connection: keep-alive\r\n");
  asking.replace(asking.find("HTTP/1.1"), 8, "HTTP/1.0");
  std::string next = signedRequest(malloryFrame("older"));
  for (const std::string& one : {request, asking}) {
    const std::string got = bob.ask(one + next);
    CHECK(hasStatus(got, 200));
    CHECK(got.find("Connection: close\r\n") != std::string::npos);
    CHECK(got.find("}HTTP/1.1 ") == std::string::npos);
  }
  CHECK(bob.mallorys() == 2);
}

TEST_CASE("hostile: a path by another spelling, a neighbour's, or a whole URL: 404") {
  std::vector<std::string> attacks;
  for (const char* path : {"/", "/inbox/", "//inbox", "/inbox/../inbox", "/./inbox", "/INBOX", "/%69nbox", "/inbox%00",
                           "/inbox;a", "/inbox/more", "/inboxes", "/inbox?", "/inbox?a=b", "/inbox#a",
                           "/../../etc/passwd", "inbox", "*", "http://here/inbox", "http://elsewhere/inbox"}) {
    attacks.push_back("POST " + std::string(path) + " HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n");
  }
  attacks.push_back("POST /" + std::string(4000, 'a') + " HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n");
  allGet(404, attacks);
}

TEST_CASE("hostile: another method, even one that nobody knows: 405 with the one that is allowed") {
  std::vector<std::string> attacks;
  for (const char* method : {"GET", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "MKCOL"}) {
    attacks.push_back(std::string(method) + " /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n");
  }
  allGet(405, attacks);
  Target bob;
  CHECK(bob.ask(attacks.front()).find("Allow: POST\r\n") != std::string::npos);
  // Not even what was sent is said back to a TRACE.
  CHECK(bob.ask("TRACE /inbox HTTP/1.1\r\nHost: here\r\nA: secret\r\n\r\n").find("secret") == std::string::npos);
}

TEST_CASE("hostile: a compressed body, which might unfold to any size: 415, unread") {
  allGet(415, {signedRequest(malloryFrame("a"), "application/cloudevents+json", "Content-Encoding: gzip\r\n"),
               signedRequest(malloryFrame("a"), "application/cloudevents+json", "Content-Encoding: gzip, br\r\n"),
               kHead + "Content-Encoding: deflate\r\nContent-Length: 1000\r\n\r\n"});
}

TEST_CASE(
    "hostile: an expectation of 100-continue for a body that is too large, or another expectation: 413 or 417, no "
    "100") {
  allGet(413, {kHead + "Expect: 100-continue\r\nContent-Length: 10000000000\r\n\r\n"});
  allGet(417, {kHead + "Expect: miracles\r\nContent-Length: 2\r\n\r\n"});
}

TEST_CASE("hostile: requests sent ahead of their answers: one at a time, in their order, on their connection") {
  Target bob;
  std::string many;
  constexpr int kRequests = 100;
  for (int number = 0; number < kRequests; ++number) {
    many += signedRequest(malloryFrame("p" + std::to_string(number)));
  }
  RawConnection mallory = bob.connect();
  mallory.send(many);
  for (int number = 0; number < kRequests; ++number) {
    CHECK(mallory.receiveMessage().find("\"p" + std::to_string(number) + "\"") != std::string::npos);
  }
  CHECK(bob.mallorys() == kRequests);
}

}  // namespace
}  // namespace ackbox::testing::server_http_test
