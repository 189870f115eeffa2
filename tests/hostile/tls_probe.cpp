#include "hostile/tls_probe.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>

namespace ackbox::testing {

TlsProbe::TlsProbe(std::uint16_t port, int version) : TlsProbe(port, version, "ALL") {}

TlsProbe::TlsProbe(std::uint16_t port, int version, const std::string& ciphers)
    : connection_(port), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
  // Level 0 allows what is out of date.
  SSL_CTX_set_security_level(context_.get(), 0);
  SSL_CTX_set_min_proto_version(context_.get(), version);
  SSL_CTX_set_max_proto_version(context_.get(), version);
  SSL_CTX_set_cipher_list(context_.get(), (ciphers + ":@SECLEVEL=0").c_str());
  stream_.reset(SSL_new(context_.get()), SSL_free);
  SSL_set_fd(stream_.get(), connection_.descriptor());
}

bool TlsProbe::shakeHands() {
  const bool agreed = SSL_connect(stream_.get()) == 1;
  ERR_clear_error();
  return agreed;
}

bool TlsProbe::renegotiate() {
  const bool asked = SSL_renegotiate(stream_.get()) == 1;
  const bool agreed = asked && SSL_do_handshake(stream_.get()) == 1 && SSL_renegotiate_pending(stream_.get()) == 0;
  ERR_clear_error();
  return agreed;
}

void TlsProbe::send(std::string_view bytes) {
  SSL_write(stream_.get(), bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsProbe::receiveAll() {
  std::string all;
  std::array<char, 4096> piece{};
  while (true) {
    const int got = SSL_read(stream_.get(), piece.data(), static_cast<int>(piece.size()));
    if (got <= 0) {
      ERR_clear_error();
      return all;
    }
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace ackbox::testing
