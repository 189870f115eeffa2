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

/// How far the clocks of two agents may be apart, in either direction.
inline constexpr std::chrono::seconds kSignatureTolerance{300};

/// Stands before a request's id in the id that its answer is signed with, so that neither is taken for the other.
inline constexpr std::string_view kAnswerIdPrefix = "re_";

/// The three headers of a signed message. As received they are whatever the other side wrote.
struct SignatureHeaders {
  std::string id;
  std::string timestamp;
  std::string signature;
};

/// What became of a verification.
enum class SignatureVerdict : std::uint8_t {
  valid,
  /// A header is missing or empty.
  missing,
  /// The timestamp is no number of seconds, or the list of signatures is too long.
  malformed,
  /// The timestamp is further from now than the tolerance.
  skewed,
  /// None of the signatures is any of the keys'.
  mismatch,
};

/// The keys of one peer at one time.
///
/// Thread-safety: all members may be called from any thread.
class KeyRing {
public:
  using Keys = std::vector<std::shared_ptr<const SigningKey>>;

  /// None: nobody is believed, and nothing is signed.
  KeyRing() = default;
  explicit KeyRing(Keys keys);
  /// Throws `Error` with `invalidOption` naming a malformed secret by its place, without showing it.
  explicit KeyRing(std::span<const Secret> secrets);

  [[nodiscard]] bool canSign() const noexcept { return !signing_.empty(); }
  /// How many keys a signature is tried with.
  [[nodiscard]] std::size_t verifyingKeys() const noexcept { return verifying_.size(); }

  /// Signs with every key that can, one signature each.
  [[nodiscard]] SignatureHeaders sign(std::string_view id, std::string_view body, WallTime now) const;

  /// Looks at nothing of the body but its bytes, once for each shared key however many signatures there are, and at
  /// most 16 times for all others. A text that has not a signature's length costs nothing.
  [[nodiscard]] SignatureVerdict verify(const SignatureHeaders& headers, std::string_view body, WallTime now) const;

private:
  void add(std::shared_ptr<const SigningKey> key);

  Keys signing_;
  Keys verifying_;
};

}  // namespace ackbox::protocol
