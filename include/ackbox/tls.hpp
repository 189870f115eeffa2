#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "ackbox/clock.hpp"

namespace ackbox {

/// A certificate that ends within this time is reported. Automatic renewal happens in the last third of a certificate's
/// life, the last 30 days of 90; a certificate still this close to its end points to a renewal that failed.
inline constexpr std::chrono::hours kCertificateNotice{21 * 24};

/// The earliest end of the certificates in a PEM file; for a certificate with its chain, the instant from which it can
/// no longer be used. Empty if the file cannot be read or holds no readable certificate.
///
/// A manager checks its sender's and its server's certificates when the sender and the server are made, and logs
/// (`certificate-ends`) each one that has ended or ends within `kCertificateNotice`.
[[nodiscard]] std::optional<WallTime> certificateEnds(const std::filesystem::path& file);

/// TLS settings of a client (TLS 1.2 or later; below 1.3 only with forward secrecy and authenticated encryption). The
/// server's certificate is always verified: its chain, its validity by the sender's clock, and the host's name or
/// address. Files are PEM. A changed file is noticed at the next connection; if it cannot be read then, the earlier
/// contents stay in use. At the start, files that cannot be used are read once more after 100 ms, because a certificate
/// and its key may just be replaced, one after the other.
struct TlsClientOptions {
  /// The authorities that are trusted. Empty (default): the system's.
  std::filesystem::path authorityFile = {};
  /// This agent's own certificate, with its chain, shown to servers that ask (mutual TLS). Empty (default): none.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
  /// How long the last valid `authorityFile` stays trusted once the files cannot be read, counted from when they were
  /// last found valid; then no server is trusted until they can be read again. A file without a certificate ends the
  /// trust at once. 0: no grace. At most 1 day. Default 10 minutes, as `HttpSenderOptions::secretsGrace`.
  std::chrono::milliseconds authorityGrace = std::chrono::minutes(10);
};

/// TLS settings of a server (TLS 1.2 or later; below 1.3 only with forward secrecy and authenticated encryption). Files
/// are PEM. A changed file is noticed at the next connection; if it cannot be read then, the earlier contents stay in
/// use. At the start, files that cannot be used are read once more after 100 ms, because a certificate and its key may
/// just be replaced, one after the other.
struct TlsServerOptions {
  /// The certificate, with its chain. Empty (default): no TLS.
  std::filesystem::path certificateFile = {};
  /// Its private key, without a passphrase. Needed with `certificateFile`.
  std::filesystem::path keyFile = {};
  /// The authorities of clients' certificates (mutual TLS); `InboundPeer::byCertificate` then recognises a peer by the
  /// URIs in its certificate. Empty (default): clients are not asked for a certificate.
  std::filesystem::path clientAuthorityFile = {};
  /// As `TlsClientOptions::authorityGrace`, for `clientAuthorityFile` and the trust in clients. Open connections are
  /// not affected.
  std::chrono::milliseconds authorityGrace = std::chrono::minutes(10);
  /// Whether the handshake rejects a client without a certificate, if clients are asked for one. Default: yes.
  bool requireClientCertificate = true;
  /// Certificate revocation lists: one for each authority in a client's chain, both the root and the intermediate ones.
  /// The handshake rejects a client if a certificate of its chain is in its authority's list, or if one of these
  /// authorities has no list here that is in force. An open connection ends within
  /// `InboundServerOptions::connectionAge`. Empty (default): no list is required.
  std::filesystem::path crlFile = {};
};

}  // namespace ackbox
