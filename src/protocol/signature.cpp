#include "protocol/signature.hpp"

#include <algorithm>
#include <optional>

#include "ackbox/error.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kSecretsMax = 16;
// Each one that looks right costs a computation.
constexpr std::size_t kSignaturesMax = 16;
// The year 9999, in seconds.
constexpr std::uint64_t kSecondsMax = 253'402'300'799;

struct Signature {
  std::string_view version;
  std::string_view text;
};

/// The members of `v1,… v1a,…`; nothing when there are too many.
std::optional<std::vector<Signature>> split(std::string_view list) {
  std::vector<Signature> signatures;
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
  }
  return signatures;
}

bool isWithinTolerance(std::uint64_t seconds, WallTime now) {
  const WallTime then{std::chrono::seconds(static_cast<std::int64_t>(seconds))};
  const auto apart = std::chrono::floor<std::chrono::seconds>(now) - std::chrono::floor<std::chrono::seconds>(then);
  return apart <= kSignatureTolerance && apart >= -kSignatureTolerance;
}

}  // namespace

KeyRing::KeyRing(std::span<const Secret> secrets) {
  if (secrets.size() > kSecretsMax) {
    throw Error(Errc::invalidOption, "secrets: " + std::to_string(secrets.size()) + " of them, allowed: at most 16");
  }
  for (std::size_t index = 0; index < secrets.size(); ++index) {
    try {
      std::shared_ptr<const SigningKey> key = parseSigningKey(secrets[index]);
      Keys& keys = key->canSign() ? signing_ : verifying_;
      if (key->canSign() && key->canVerify()) {
        verifying_.push_back(key);
      }
      keys.push_back(std::move(key));
    } catch (const Error& error) {
      throw Error(static_cast<Errc>(error.code().value()),
                  "secrets[" + std::to_string(index) + "]: " + std::string(error.what()));
    }
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
  for (const auto& key : verifying_) {
    for (const Signature& signature : *signatures) {
      if (signature.version == key->version() && key->verify(content, signature.text)) {
        return SignatureVerdict::valid;
      }
    }
  }
  return SignatureVerdict::mismatch;
}

}  // namespace ackbox::protocol
