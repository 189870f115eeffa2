#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "unit/transport/raw_peer.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace ackbox::testing {

/// A TLS client that trusts everybody and speaks whatever version it is told to: blocking, on OpenSSL itself.
class TlsProbe {
public:
  /// `version` as OpenSSL numbers them, such as `TLS1_1_VERSION`.
  TlsProbe(std::uint16_t port, int version);
  /// The same, with these ciphers alone, as OpenSSL lists them; those of TLS 1.2 and before.
  TlsProbe(std::uint16_t port, int version, const std::string& ciphers);

  /// Whether the server agreed.
  [[nodiscard]] bool shakeHands();
  /// Whether the server let the keys be negotiated again.
  [[nodiscard]] bool renegotiate();
  void send(std::string_view bytes);
  /// Everything up to the end of the stream.
  [[nodiscard]] std::string receiveAll();

private:
  RawConnection connection_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<ssl_st> stream_;
};

}  // namespace ackbox::testing
