#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/secret.hpp"
#include "protocol/signing_key.hpp"

namespace ackbox::protocol {

/// The largest allowed difference of two agents' clocks, in either direction.
inline constexpr std::chrono::seconds kSignatureTolerance{300};

/// The prefix that turns a request's id into the signed id of its answer, so that neither is taken for the other.
inline constexpr std::string_view kAnswerIdPrefix = "re_";

/// The three headers of a signed message. Received headers are unchecked text.
struct SignatureHeaders {
  std::string id;
  std::string timestamp;
  std::string signature;
};

/// The result of a verification.
enum class SignatureVerdict : std::uint8_t {
  valid,
  /// A header is missing or empty.
  missing,
  /// The timestamp is not a number of seconds, or the list of signatures is too long.
  malformed,
  /// The timestamp differs from the current time by more than the tolerance.
  skewed,
  /// No signature matches a key.
  mismatch,
};

/// The keys of one peer at one time.
///
/// Thread-safety: all members may be called from any thread.
class KeyRing {
public:
  using Keys = std::vector<std::shared_ptr<const SigningKey>>;

  /// No keys: no message is verified, and none is signed.
  KeyRing() = default;
  explicit KeyRing(Keys keys);
  /// Throws `Error` with `invalidOption`, which gives the position of a malformed secret, not its text.
  explicit KeyRing(std::span<const Secret> secrets);

  [[nodiscard]] bool canSign() const noexcept { return !signing_.empty(); }
  /// The number of keys that a signature is tried with.
  [[nodiscard]] std::size_t verifyingKeys() const noexcept { return verifying_.size(); }

  /// Signs with every key that can sign, one signature for each.
  [[nodiscard]] SignatureHeaders sign(std::string_view id, std::string_view body, WallTime now) const;

  /// Reads the body only as bytes, once for each shared key whatever the number of signatures, and at most 16 times for
  /// all other keys. A text of another length than a signature's costs nothing.
  [[nodiscard]] SignatureVerdict verify(const SignatureHeaders& headers, std::string_view body, WallTime now) const;

private:
  void add(std::shared_ptr<const SigningKey> key);

  Keys signing_;
  Keys verifying_;
};

}  // namespace ackbox::protocol
