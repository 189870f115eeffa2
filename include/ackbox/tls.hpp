#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "ackbox/clock.hpp"

namespace ackbox {

/// How long before its end a certificate is warned of. Those that renew themselves do it in their last third, which is
/// 30 days of 90: what is left then is a renewal that failed.
inline constexpr std::chrono::hours kCertificateNotice{21 * 24};

/// When the first of the certificates in a PEM file ends: of a certificate with its chain, when it can be used no more.
/// Empty: the file cannot be read, or holds no certificate that can.
///
/// A manager looks at its sender's and its server's certificates when these are made, and writes into the log
/// (`certificate-ends`) which of them ends within `kCertificateNotice` or has ended.
[[nodiscard]] std::optional<WallTime> certificateEnds(const std::filesystem::path& file);

/// How a client speaks TLS (1.2 or later; below 1.3 with forward secrecy and authenticated encryption only). The
/// server's certificate is always verified: its chain, its time by the sender's clock, and the host's name or address.
/// Files are PEM; changed ones are noticed at the next connection, and ones that cannot be read then leave what was
/// there before. At the start, files that cannot be used are read once more after 100 ms: a certificate and its key may
/// just be replaced, one after the other.
struct TlsClientOptions {
  /// The authorities that are trusted. Empty (default): the system's.
  std::filesystem::path authorityFile = {};
  /// This agent's own certificate, with its chain, shown to servers that ask (mutual TLS). Empty (default): none.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
  /// How long `authorityFile` from before is trusted when the files cannot be read any more, counted from when they
  /// were last found sound; afterwards no server is, until they can. One that holds no certificate any more ends its
  /// trust at once. 0: not at all. At most 1 day. Default 10 minutes, as `HttpSenderOptions::secretsGrace`.
  std::chrono::milliseconds authorityGrace = std::chrono::minutes(10);
};

/// How a server speaks TLS (1.2 or later; below 1.3 with forward secrecy and authenticated encryption only). Files are
/// PEM; changed ones are noticed at the next connection, and ones that cannot be read then leave what was there before.
/// At the start, files that cannot be used are read once more after 100 ms: a certificate and its key may just be
/// replaced, one after the other.
struct TlsServerOptions {
  /// The certificate, with its chain. Empty (default): no TLS.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
  /// The authorities of clients' certificates (mutual TLS); `InboundPeer::byCertificate` then knows a peer by the URIs
  /// in its own. Empty (default): clients are not asked for one.
  std::filesystem::path clientAuthorityFile = {};
  /// As `TlsClientOptions::authorityGrace`, for `clientAuthorityFile` and the trust in clients. Connections that are
  /// open stay as they began.
  std::chrono::milliseconds authorityGrace = std::chrono::minutes(10);
  /// Whether a client without a certificate is turned away in the handshake. Default: yes, where they are asked for
  /// one.
  bool requireClientCertificate = true;
  /// Lists of revoked certificates, one of each authority that stands in a client's chain, the root and the ones
  /// between alike. A client is turned away in the handshake when a certificate of its chain is in its authority's
  /// list, or when one of these authorities has no list here that is in force. A connection that is open ends within
  /// `InboundServerOptions::connectionAge`. Empty (default): no list is asked for.
  std::filesystem::path crlFile = {};
};

}  // namespace ackbox
