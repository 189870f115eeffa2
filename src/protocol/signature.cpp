#include "protocol/signature.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <optional>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kSecretsMax = 16;
constexpr std::size_t kSignaturesMax = 16;
// Each of these costs a computation over the whole body with each key.
constexpr std::size_t kAsymmetricMax = 4;
constexpr std::size_t kAsymmetricTriesMax = 16;
constexpr std::string_view kAsymmetricVersion = "v1a";
// The year 9999, in seconds.
constexpr std::uint64_t kSecondsMax = 253'402'300'799;

struct Signature {
  std::string_view version;
  std::string_view text;
};

/// The members of `v1,… v1a,…`; nothing if there are too many.
std::optional<std::vector<Signature>> split(std::string_view list) {
  std::vector<Signature> signatures;
  std::size_t asymmetric = 0;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry.empty()) {
      continue;
    }
    if (signatures.size() == kSignaturesMax) {
      return std::nullopt;
    }
    const std::size_t comma = std::min(entry.find(','), entry.size());
    signatures.push_back({entry.substr(0, comma), entry.substr(std::min(comma + 1, entry.size()))});
    asymmetric += signatures.back().version == kAsymmetricVersion ? 1U : 0U;
    if (asymmetric > kAsymmetricMax) {
      return std::nullopt;
    }
  }
  return signatures;
}

bool isWithinTolerance(std::uint64_t sentAt, WallTime now) {
  const WallTime then{std::chrono::seconds(static_cast<std::int64_t>(sentAt))};
  const auto apart = std::chrono::floor<std::chrono::seconds>(now) - std::chrono::floor<std::chrono::seconds>(then);
  return apart <= kSignatureTolerance && apart >= -kSignatureTolerance;
}

// Compares the texts, so that only one spelling is right, in a time that does not depend on where they differ.
bool isSame(std::string_view expected, std::string_view given) noexcept {
  return expected.size() == given.size() && CRYPTO_memcmp(expected.data(), given.data(), expected.size()) == 0;
}

}  // namespace

KeyRing::KeyRing(Keys keys) {
  for (std::shared_ptr<const SigningKey>& key : keys) {
    add(std::move(key));
  }
}

KeyRing::KeyRing(std::span<const Secret> secrets) {
  if (secrets.size() > kSecretsMax) {
    throw OptionError("secrets", "has " + std::to_string(secrets.size()) + " of them", "at most 16");
  }
  for (std::size_t index = 0; index < secrets.size(); ++index) {
    try {
      add(parseSigningKey(secrets[index]));
    } catch (const Error& error) {
      throw OptionError("secrets[" + std::to_string(index) + "]", circumstancesOf(error));
    }
  }
}

void KeyRing::add(std::shared_ptr<const SigningKey> key) {
  if (key->canVerify()) {
    verifying_.push_back(key);
  }
  if (key->canSign()) {
    signing_.push_back(std::move(key));
  }
}

SignatureHeaders KeyRing::sign(std::string_view id, std::string_view body, WallTime now) const {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  SignatureHeaders headers;
  headers.id = id;
  headers.timestamp = std::to_string(seconds);
  for (const auto& key : signing_) {
    headers.signature.append(headers.signature.empty() ? "" : " ").append(key->version()).append(",");
    headers.signature.append(key->sign({headers.id, headers.timestamp, body}));
  }
  return headers;
}

SignatureVerdict KeyRing::verify(const SignatureHeaders& headers, std::string_view body, WallTime now) const {
  if (headers.id.empty() || headers.timestamp.empty() || headers.signature.empty()) {
    return SignatureVerdict::missing;
  }
  const std::optional<std::uint64_t> seconds = parseCounter(headers.timestamp);
  const std::optional<std::vector<Signature>> signatures = split(headers.signature);
  if (!seconds || *seconds > kSecondsMax || !signatures) {
    return SignatureVerdict::malformed;
  }
  if (!isWithinTolerance(*seconds, now)) {
    return SignatureVerdict::skewed;
  }
  const SignedContent content{headers.id, headers.timestamp, body};
  std::size_t tries = 0;
  for (const auto& key : verifying_) {
    // Empty until it is computed.
    std::string expected;
    for (const Signature& signature : *signatures) {
      if (signature.version != key->version() || signature.text.size() != key->signatureLength()) {
        continue;
      }
      if (key->isShared() && expected.empty()) {
        expected = key->sign(content);
      }
      if (!key->isShared() && ++tries > kAsymmetricTriesMax) {
        return SignatureVerdict::mismatch;
      }
      if (key->isShared() ? isSame(expected, signature.text) : key->verify(content, signature.text)) {
        return SignatureVerdict::valid;
      }
    }
  }
  return SignatureVerdict::mismatch;
}

}  // namespace ackbox::protocol
