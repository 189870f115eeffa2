#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/secret.hpp"

namespace ackbox::protocol {

/// The signed content: `{id}.{timestamp}.{body}`.
struct SignedContent {
  std::string_view id;
  /// Decimal seconds.
  std::string_view timestamp;
  std::string_view body;
};

/// One key of Standard Webhooks, in the form used for computation.
///
/// Thread-safety: all members may be called from any thread.
class SigningKey {
public:
  virtual ~SigningKey() = default;

  /// `v1` or `v1a`: the part before the comma in its signatures.
  [[nodiscard]] virtual std::string_view version() const noexcept = 0;
  [[nodiscard]] virtual bool canSign() const noexcept = 0;
  [[nodiscard]] virtual bool canVerify() const noexcept = 0;

  /// The length of a signature in base64: a text of another length cannot be a signature.
  [[nodiscard]] virtual std::size_t signatureLength() const noexcept = 0;
  /// Whether both sides compute the same signature, so that one computation suffices to check any number of signatures.
  [[nodiscard]] virtual bool isShared() const noexcept = 0;

  /// The signature in base64. Precondition: `canSign`.
  [[nodiscard]] virtual std::string sign(const SignedContent& content) const = 0;
  /// Whether `signature`, in base64, was made with this key. Precondition: `canVerify`, and not `isShared`.
  [[nodiscard]] virtual bool verify(const SignedContent& content, std::string_view signature) const = 0;
};

/// Reads `whsec_` (HMAC-SHA256, 24 to 64 bytes; signs and verifies), `whsk_` (Ed25519, the 32 bytes of the seed, or 64
/// with the public half after it; signs) or `whpk_` (Ed25519, 32 bytes; verifies).
/// Throws `Error` with `invalidOption`, which describes the fault without showing any part of the secret.
[[nodiscard]] std::shared_ptr<const SigningKey> parseSigningKey(const Secret& secret);

}  // namespace ackbox::protocol
