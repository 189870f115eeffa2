#pragma once

#include <filesystem>

namespace ackbox {

/// How a client speaks TLS (1.2 or later). The server's certificate is always verified: its chain, its time by the
/// sender's clock, and the host's name or address. Files are PEM; changed ones are noticed at the next connection, and
/// ones that cannot be read then leave what was there before.
struct TlsClientOptions {
  /// The authorities that are trusted. Empty (default): the system's.
  std::filesystem::path authorityFile = {};
  /// This agent's own certificate, with its chain, shown to servers that ask (mutual TLS). Empty (default): none.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
};

/// How a server speaks TLS (1.2 or later). Files are PEM; changed ones are noticed at the next connection, and ones
/// that cannot be read then leave what was there before.
struct TlsServerOptions {
  /// The certificate, with its chain. Empty (default): no TLS.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
  /// The authorities of clients' certificates (mutual TLS); `InboundPeer::byCertificate` then knows a peer by the URIs
  /// in its own. Empty (default): clients are not asked for one.
  std::filesystem::path clientAuthorityFile = {};
  /// Whether a client without a certificate is turned away in the handshake. Default: yes, where they are asked for
  /// one.
  bool requireClientCertificate = true;
};

}  // namespace ackbox
