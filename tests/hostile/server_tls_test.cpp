// Goal: nobody gets past TLS by an old version, by plain text, by garbage or by asking for the keys anew, and none of
// it keeps an honest peer out. Method: OpenSSL and raw bytes against an agent with a certificate.
// tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <string>
#include <vector>

#include "hostile/memory_meter.hpp"
#include "hostile/target.hpp"
#include "hostile/tls_probe.hpp"
#include "integration/test_certificates.hpp"

namespace ackbox::testing::server_tls_test {
namespace {

struct Secured {
  explicit Secured(std::size_t connectionsMax = 64) : bob(options(connectionsMax), trusted()) {}

  InboundServerOptions options(std::size_t connectionsMax) {
    const CertificateFiles files = authority.issue("bob");
    InboundServerOptions made;
    made.connectionsMax = connectionsMax;
    made.tls.certificateFile = files.certificate;
    made.tls.keyFile = files.key;
    return made;
  }
  [[nodiscard]] TlsClientOptions trusted() const {
    TlsClientOptions made;
    made.authorityFile = authority.file();
    return made;
  }

  TempDir directory;
  TestAuthority authority{directory.file(""), "authority"};
  Target bob;
};

TEST_CASE("hostile: TLS 1.1 and 1.0: no handshake; 1.2 and 1.3 are spoken") {
  Secured world;
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    TlsProbe probe(world.bob.port(), version);
    CHECK_FALSE(probe.shakeHands());
  }
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsProbe probe(world.bob.port(), version);
    CHECK(probe.shakeHands());
    probe.send("GET /inbox HTTP/1.1\r\nHost: here\r\n\r\n");
    CHECK(hasStatus(probe.receiveAll(), 405));
  }
  CHECK(world.bob.servesAlice());
}

TEST_CASE("hostile: TLS 1.2 without forward secrecy or authenticated encryption: no handshake") {
  const Secured world;
  for (const char* ciphers : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE+AES:!AESGCM:!AESCCM",
                              "kRSA", "kDHE", "ADH:AECDH", "NULL", "AESCCM"}) {
    CAPTURE(ciphers);
    TlsProbe probe(world.bob.port(), TLS1_2_VERSION, ciphers);
    CHECK_FALSE(probe.shakeHands());
  }
  for (const char* ciphers : {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"}) {
    TlsProbe probe(world.bob.port(), TLS1_2_VERSION, ciphers);
    CHECK(probe.shakeHands());
  }
}

TEST_CASE("hostile: plain text to a port with TLS, and garbage for a handshake: cut, and nothing is taken") {
  using namespace std::string_literals;
  Secured world;
  for (const std::string& bytes :
       {signedRequest(malloryFrame("plain")), "\x16\x03\x01\xff\xff"s + std::string(1000, 'x'), std::string(4096, '\0'),
        "\x80\x2e\x01\x00\x02"s + std::string(44, '\0')}) {
    const std::string got = world.bob.ask(bytes);
    CHECK(got.find("HTTP/") == std::string::npos);
  }
  CHECK(world.bob.mallorys() == 0);
  CHECK(world.bob.servesAlice());
}

TEST_CASE("hostile: a client that asks for a renegotiation, which costs the server more than itself: refused") {
  Secured world;
  TlsProbe probe(world.bob.port(), TLS1_2_VERSION);
  REQUIRE(probe.shakeHands());
  CHECK_FALSE(probe.renegotiate());
  CHECK(world.bob.servesAlice());
}

TEST_CASE("hostile: handshakes that never end, four times the limit: the oldest gives way, at once") {
  using namespace std::string_literals;
  Secured world(16);
  const MemoryMeter meter;
  std::vector<RawConnection> attackers;
  for (int count = 0; count < 64; ++count) {
    attackers.push_back(world.bob.connect());
    attackers.back().sendWhileTaken("\x16\x03\x01\x02\x00\x01"s);
  }
  CHECK(world.bob.servesAlice());
  CHECK(world.bob.servesAlice());
  CHECK(meter.peakGrowth() < std::size_t{64} * 128 * 1024);
}

}  // namespace
}  // namespace ackbox::testing::server_tls_test
