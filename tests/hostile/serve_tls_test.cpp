// Goal: a daemon that listens with TLS speaks nothing else, and asks for tokens behind it as elsewhere. Method: OpenSSL
// and raw bytes against a whole daemon with a certificate. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "hostile/tls_probe.hpp"
#include "integration/test_certificates.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::testing::serve_tls_test {
namespace {

/// A daemon with a certificate and a token.
class SecuredDaemon {
public:
  SecuredDaemon() {
    const CertificateFiles files = authority_.issue("serve");
    serve_ = std::make_unique<GuardedStage>(
        Settings{{"tls.certificate_file", files.certificate.string()}, {"tls.key_file", files.key.string()}});
  }

  /// What comes for a request over TLS, until the end of its connection.
  std::string ask(const std::string& target, const std::string& headers) {
    TlsProbe probe(port(), TLS1_3_VERSION);
    REQUIRE(probe.shakeHands());
    probe.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
    return probe.receiveAll();
  }
  [[nodiscard]] std::uint16_t port() const { return serve_->server().port(); }
  void end() { serve_->end(); }

private:
  TempDir dir_;
  TestAuthority authority_{dir_.file(""), "authority"};
  std::unique_ptr<GuardedStage> serve_;
};

const std::string kToken = bearer(kReader);

}  // namespace

TEST_CASE("Over TLS a token is needed as elsewhere, and a stream goes on until the daemon's end") {
  SecuredDaemon daemon;
  TlsProbe stream(daemon.port(), TLS1_3_VERSION);
  REQUIRE(stream.shakeHands());
  stream.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n" + kToken + "\r\n");
  CHECK(daemon.ask("/v1/stats", {}).starts_with("HTTP/1.1 401 "));
  CHECK(daemon.ask("/v1/stats", kToken).starts_with("HTTP/1.1 200 "));
  daemon.end();
  const std::string events = stream.receiveAll();
  CHECK(events.starts_with("HTTP/1.1 200 "));
  CHECK(events.find("event: figures") != std::string::npos);
  CHECK(events.ends_with("0\r\n\r\n"));
}

TEST_CASE("hostile: plain text to a daemon that speaks TLS: cut, and nothing is answered") {
  SecuredDaemon daemon;
  RawConnection plain(daemon.port());
  plain.sendWhileTaken("GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n" + kToken + "\r\n");
  CHECK(plain.receiveAll().find("HTTP/") == std::string::npos);
  CHECK(daemon.ask("/v1/stats", kToken).starts_with("HTTP/1.1 200 "));
}

}  // namespace ackbox::testing::serve_tls_test
