#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/secret.hpp"

namespace ackbox::protocol {

/// What a signature is made over: `{id}.{timestamp}.{body}`.
struct SignedContent {
  std::string_view id;
  /// Decimal seconds.
  std::string_view timestamp;
  std::string_view body;
};

/// One key of Standard Webhooks, in the form that it is computed with.
///
/// Thread-safety: all members may be called from any thread.
class SigningKey {
public:
  virtual ~SigningKey() = default;

  /// `v1` or `v1a`: what stands before the comma of its signatures.
  [[nodiscard]] virtual std::string_view version() const noexcept = 0;
  [[nodiscard]] virtual bool canSign() const noexcept = 0;
  [[nodiscard]] virtual bool canVerify() const noexcept = 0;

  /// Letters of a signature in base64: no text of another length is one.
  [[nodiscard]] virtual std::size_t signatureLength() const noexcept = 0;
  /// Whether both sides write the same signature, so that one computation is enough to judge any number of them.
  [[nodiscard]] virtual bool isShared() const noexcept = 0;

  /// The signature in base64. Precondition: `canSign`.
  [[nodiscard]] virtual std::string sign(const SignedContent& content) const = 0;
  /// Whether `signature`, in base64, is this key's. Precondition: `canVerify`, and not `isShared`.
  [[nodiscard]] virtual bool verify(const SignedContent& content, std::string_view signature) const = 0;
};

/// Reads `whsec_` (HMAC-SHA256, 24 to 64 bytes; signs and verifies), `whsk_` (Ed25519, the 32 bytes of the seed, or 64
/// with the public half behind it; signs) or `whpk_` (Ed25519, 32 bytes; verifies).
/// Throws `Error` with `invalidOption` saying what is wrong without showing any of it.
[[nodiscard]] std::shared_ptr<const SigningKey> parseSigningKey(const Secret& secret);

}  // namespace ackbox::protocol
