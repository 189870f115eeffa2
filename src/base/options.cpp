#include "base/options.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "ackbox/error.hpp"

namespace ackbox {
namespace {

using std::chrono::milliseconds;

// SQLite takes it as an `int`.
constexpr milliseconds kBusyTimeoutMax{std::numeric_limits<int>::max()};
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kTablePrefixBytesMax = 32;
constexpr std::size_t kFrameBytesLimit = 64ULL << 20U;
constexpr std::uint32_t kPeerRequestsMax = 64;
constexpr std::uint32_t kBatchFramesLimit = 256;
constexpr std::uint32_t kRateFramesMax = 1'000'000;
constexpr double kFactorMax = 100;
constexpr std::uint32_t kLossToleranceMax = 1'000;

[[noreturn]] void refuse(std::string_view field, std::string_view problem, std::string_view allowed) {
  throw Error(Errc::invalidOption,
              std::string(field) + ": " + std::string(problem) + ", allowed: " + std::string(allowed));
}

template <typename Number>
void checkRange(std::string_view field, Number value, Number least, Number most) {
  if (value < least || value > most) {
    refuse(field, "is " + std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
  }
}

void checkDuration(std::string_view field, milliseconds value, milliseconds least, milliseconds most = kDurationMax) {
  if (value < least || value > most) {
    refuse(field, "is " + std::to_string(value.count()) + " ms",
           std::to_string(least.count()) + " to " + std::to_string(most.count()) + " ms");
  }
}

void checkDelays(const std::string& field, const std::vector<milliseconds>& delays, milliseconds least) {
  if (delays.empty()) {
    refuse(field, "is empty", "at least one delay");
  }
  for (std::size_t index = 0; index < delays.size(); ++index) {
    checkDuration(field + "[" + std::to_string(index) + "]", delays[index], least);
  }
}

void checkRetry(const std::string& field, const RetryPolicy& retry) {
  checkDelays(field + ".delays", retry.delays, milliseconds(0));
  checkDuration(field + ".base", retry.base, milliseconds(1));
  // Written so that what is not a number is refused as well.
  if (!(retry.factor >= 1 && retry.factor <= kFactorMax)) {
    refuse(field + ".factor", "is " + std::to_string(retry.factor), "1 to 100");
  }
  if (retry.backoff == Backoff::exponential) {
    checkDuration(field + ".cap", retry.cap, retry.base);
  }
  if (retry.backoff == Backoff::custom && !retry.custom) {
    refuse(field + ".custom", "is not set", "a function, as backoff is custom");
  }
  checkDuration(field + ".horizon", retry.horizon, milliseconds(0));
}

void checkRateLimit(const std::string& field, const RateLimit& limit) {
  checkRange<std::uint32_t>(field + ".frames", limit.frames, 0, kRateFramesMax);
  checkDuration(field + ".per", limit.per, milliseconds(1), std::chrono::hours(24));
  checkRange<std::uint32_t>(field + ".burst", limit.burst, 0, kRateFramesMax);
}

void checkPattern(const std::string& field, std::string_view pattern) {
  if (pattern.empty()) {
    refuse(field, "is empty", "a name, the beginning of names with '*' behind it, or '*'");
  }
}

void checkSessionPolicies(const std::vector<SessionPolicy>& policies) {
  for (std::size_t index = 0; index < policies.size(); ++index) {
    const SessionPolicy& policy = policies[index];
    const std::string field = "sessionPolicies[" + std::to_string(index) + "]";
    checkPattern(field + ".peer", policy.peer);
    checkPattern(field + ".session", policy.session);
    if (policy.retry) {
      checkRetry(field + ".retry", *policy.retry);
    }
  }
}

void checkPeers(const std::vector<PeerOptions>& peers) {
  std::set<std::string_view> names;
  for (std::size_t index = 0; index < peers.size(); ++index) {
    const PeerOptions& peer = peers[index];
    const std::string field = "peers[" + std::to_string(index) + "]";
    if (peer.name.empty() || peer.name.size() > kNameBytesMax) {
      refuse(field + ".name", "has " + std::to_string(peer.name.size()) + " bytes", "1 to 256 bytes");
    }
    if (!names.insert(peer.name).second) {
      refuse(field + ".name", "'" + peer.name + "' is used twice", "each name once");
    }
    checkRange<std::uint32_t>(field + ".maxRequests", peer.maxRequests, 1, kPeerRequestsMax);
    checkRateLimit(field + ".rateLimit", peer.rateLimit);
    if (peer.retry) {
      checkRetry(field + ".retry", *peer.retry);
    }
  }
}

// Without retention nothing acknowledged is left to send again: the policy would do nothing on the day it is for.
void checkResend(const OutboxOptions& options) {
  if (options.ackedRetention.count() != 0) {
    return;
  }
  constexpr std::string_view kIs = "is resend while ackedRetention is 0, so no acknowledged message is kept to be sent";
  constexpr std::string_view kAllowed = "proceed, or resend with an ackedRetention above 0";
  if (options.peerReset == PeerResetPolicy::resend) {
    refuse("peerReset", std::string(kIs), kAllowed);
  }
  for (std::size_t index = 0; index < options.peers.size(); ++index) {
    if (options.peers[index].peerReset == PeerResetPolicy::resend) {
      refuse("peers[" + std::to_string(index) + "].peerReset", std::string(kIs), kAllowed);
    }
  }
}

// ASCII only, whatever the locale: the prefix becomes part of SQL text.
constexpr bool isDigit(char character) noexcept {
  return character >= '0' && character <= '9';
}

constexpr char lower(char character) noexcept {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

constexpr bool isIdentifier(char character) noexcept {
  return isDigit(character) || (lower(character) >= 'a' && lower(character) <= 'z') || character == '_';
}

void checkTablePrefix(std::string_view prefix) {
  constexpr std::string_view kField = "tablePrefix";
  constexpr std::string_view kAllowed =
      "letters, digits and '_', at most 32, not starting with a digit or with 'sqlite_'";
  // SQLite reserves its own prefix in any case of letters.
  constexpr std::string_view kReserved = "sqlite_";
  if (prefix.size() > kTablePrefixBytesMax) {
    refuse(kField, "has " + std::to_string(prefix.size()) + " characters", kAllowed);
  }
  if (!std::ranges::all_of(prefix, isIdentifier)) {
    refuse(kField, "has a character other than these", kAllowed);
  }
  if (!prefix.empty() && isDigit(prefix.front())) {
    refuse(kField, "starts with a digit", kAllowed);
  }
  if (std::ranges::equal(prefix.substr(0, kReserved.size()), kReserved, {}, lower)) {
    refuse(kField, "starts with 'sqlite_', which SQLite keeps for itself", kAllowed);
  }
}

}  // namespace

void validate(const OutboxOptions& options) {
  constexpr milliseconds kNothing{0};
  constexpr milliseconds kShortest{1};

  if (options.agent.empty()) {
    refuse("agent", "is empty", "a URI, such as urn:agent:alice");
  }
  checkPeers(options.peers);
  checkResend(options);

  checkTablePrefix(options.tablePrefix);
  constexpr std::uint32_t kOwners = 0600;
  if (options.fileMode > 0777 || (options.fileMode & kOwners) != kOwners) {
    refuse("fileMode", "is " + std::to_string(options.fileMode), "0600 to 0777 in octal, with 0600 in it");
  }
  checkDuration("busyTimeout", options.busyTimeout, kNothing, kBusyTimeoutMax);
  checkRange<std::uint32_t>("checkpointPages", options.checkpointPages, 1, std::numeric_limits<std::int32_t>::max());

  checkRange<std::size_t>("frameBytesMax", options.frameBytesMax, 1, kFrameBytesLimit);
  checkDuration("idempotencyRetention", options.idempotencyRetention, kNothing);
  checkRange<std::uint32_t>("batchFrames", options.batchFrames, 1, kBatchFramesLimit);
  checkRange<std::size_t>("batchBytes", options.batchBytes, 1, std::numeric_limits<std::size_t>::max());

  checkDuration("requestTimeout", options.requestTimeout, kShortest);
  checkDuration("ackTimeout", options.ackTimeout, kShortest);
  checkDuration("pollInterval", options.pollInterval, kShortest);
  checkDuration("sharedPollInterval", options.sharedPollInterval, kShortest);
  checkDuration("ackedRetention", options.ackedRetention, kNothing);
  checkDuration("health.oldestAge", options.health.oldestAge, kNothing);
  checkDuration("health.peerDownFor", options.health.peerDownFor, kNothing);
  checkDuration("stopTimeout", options.stopTimeout, kNothing);

  checkRetry("retry", options.retry);
  checkRetry("webhookRetry", options.webhookRetry);
  checkSessionPolicies(options.sessionPolicies);
  // A delay of nothing between probes would be a busy loop against a peer that is down.
  checkDelays("peerHealth.probeDelays", options.peerHealth.probeDelays, kShortest);
  checkRange<std::uint32_t>("peerHealth.lossTolerance", options.peerHealth.lossTolerance, 1, kLossToleranceMax);
  checkDuration("peerHealth.killerPatience", options.peerHealth.killerPatience, kNothing);
}

OutboxOptions validated(OutboxOptions options) {
  validate(options);
  if (!options.clock) {
    options.clock = systemClock();
  }
  if (!options.random) {
    options.random = systemRandom();
  }
  return options;
}

const std::filesystem::path& named(const std::filesystem::path& file) {
  if (file.empty()) {
    refuse("file", "is empty", "the path of a file");
  }
  return file;
}

}  // namespace ackbox
