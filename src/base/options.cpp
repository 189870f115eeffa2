#include "base/options.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "ackbox/error.hpp"
#include "ackbox/publication.hpp"
#include "base/option.hpp"

namespace ackbox {
namespace {

using std::chrono::milliseconds;

// SQLite takes the timeout as an `int`.
constexpr std::uint64_t kBusyTimeoutMost = std::numeric_limits<int>::max();
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kTablePrefixBytesMax = 32;
constexpr double kFactorMax = 100;

template <typename Options>
using Rows = std::span<const Option<Options>>;

[[noreturn]] void refuse(std::string_view field, std::string_view problem, std::string_view allowed) {
  throw OptionError(std::string(field), std::string(problem), std::string(allowed));
}

void checkDuration(const std::string& field, milliseconds value, milliseconds least) {
  checkOption(field, &value, OptionUnit::duration, static_cast<std::uint64_t>(least.count()), kDurationMost);
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
  checkOptions(retryOptionRows(), retry, field + ".");
  // The condition also refuses NaN.
  if (!(retry.factor >= 1 && retry.factor <= kFactorMax)) {
    refuse(field + ".factor", "is " + std::to_string(retry.factor), "1 to 100");
  }
  if (retry.backoff == Backoff::exponential) {
    checkDuration(field + ".cap", retry.cap, retry.base);
  }
  if (retry.backoff == Backoff::custom && !retry.custom) {
    refuse(field + ".custom", "is not set", "a function, as backoff is custom");
  }
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

// The bucket is kept as the instant at which it was empty, in nanoseconds of 64 bits.
void checkRateLimit(const std::string& field, const RateLimit& limit) {
  if (limit.frames == 0 && limit.burst != 0) {
    refuse(field + ".burst", "is " + std::to_string(limit.burst) + ", but without `frames` there is no limit",
           "0, or set `frames` too");
  }
  constexpr auto kFillingMost = std::chrono::years(100);
  const auto interval = std::chrono::nanoseconds(limit.per) / std::max(limit.frames, 1U);
  if (limit.frames != 0 && limit.burst > std::chrono::nanoseconds(kFillingMost) / interval) {
    refuse(field, "has a burst of " + std::to_string(limit.burst) + ", which takes more than 100 years to come again",
           "a smaller burst");
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
    if (peer.name == kAllSubscribers) {
      refuse(field + ".name", "is *, which stands for all subscribers", "another name");
    }
    if (!names.insert(peer.name).second) {
      refuse(field + ".name", "'" + peer.name + "' is used twice", "each name once");
    }
    checkOptions(peerOptionRows(), peer, field + ".");
    checkRateLimit(field + ".rateLimit", peer.rateLimit);
    if (peer.retry) {
      checkRetry(field + ".retry", *peer.retry);
    }
  }
}

// Without retention no acknowledged message is left to send again: the policy would have no effect when it is needed.
void checkResend(const OutboxOptions& options) {
  if (options.ackedRetention.count() != 0) {
    return;
  }
  constexpr std::string_view kIs =
      "is resend while `ackedRetention` is 0, so no acknowledged message is kept to be sent";
  constexpr std::string_view kAllowed = "proceed, or resend with an `ackedRetention` above 0";
  if (options.peerReset == PeerResetPolicy::resend) {
    refuse("peerReset", std::string(kIs), kAllowed);
  }
  for (std::size_t index = 0; index < options.peers.size(); ++index) {
    if (options.peers[index].peerReset == PeerResetPolicy::resend) {
      refuse("peers[" + std::to_string(index) + "].peerReset", std::string(kIs), kAllowed);
    }
  }
}

// ASCII only, whatever the locale, because the prefix becomes part of SQL text.
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

Rows<OutboxOptions> outboxOptionRows() {
  using O = OutboxOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"busyTimeout", [](O& o) -> Slot { return &o.busyTimeout; }, duration, 0, kBusyTimeoutMost,
       "how long a write waits for another process's"},
      {"checkpointPages", [](O& o) -> Slot { return &o.checkpointPages; }, count, 1,
       std::numeric_limits<std::int32_t>::max(), "pages of the log after which the store checkpoints"},
      {"maxPending", [](O& o) -> Slot { return &o.maxPending; }, count, 0, kOptionMost,
       "undelivered messages at which an enqueue is answered `queue-full`; 0: no limit"},
      {"maxPendingBytes", [](O& o) -> Slot { return &o.maxPendingBytes; }, bytes, 0, kOptionMost,
       "the same in bytes of their data; 0: no limit"},
      {"frameBytesMax", [](O& o) -> Slot { return &o.frameBytesMax; }, bytes, 1, 64ULL << 20U,
       "bytes of one message's data"},
      {"idempotencyRetention", [](O& o) -> Slot { return &o.idempotencyRetention; }, duration, 0, kDurationMost,
       "how long an idempotency key is remembered"},
      {"batchFrames", [](O& o) -> Slot { return &o.batchFrames; }, count, 1, 256, "frames in one request"},
      {"batchBytes", [](O& o) -> Slot { return &o.batchBytes; }, bytes, 1, kOptionMost,
       "bytes of data in one request; a larger frame goes alone"},
      {"requestTimeout", [](O& o) -> Slot { return &o.requestTimeout; }, duration, 1, kDurationMost,
       "how long one request may take, from its start to the whole answer"},
      {"ackTimeout", [](O& o) -> Slot { return &o.ackTimeout; }, duration, 1, kDurationMost,
       "how long a deferred message waits for its ACK event before the peer is asked"},
      {"pollInterval", [](O& o) -> Slot { return &o.pollInterval; }, duration, 1, kDurationMost,
       "how often the file is asked for rows of other processes"},
      {"sharedPollInterval", [](O& o) -> Slot { return &o.sharedPollInterval; }, duration, 1, kDurationMost,
       "the same while other processes have the file open"},
      {"ackedRetention", [](O& o) -> Slot { return &o.ackedRetention; }, duration, 0, kDurationMost,
       "how long acknowledged messages are kept; 0: not at all"},
      {"stopTimeout", [](O& o) -> Slot { return &o.stopTimeout; }, duration, 0, kDurationMost,
       "how long a stop waits for requests under way"},
      {"health.oldestAge", [](O& o) -> Slot { return &o.health.oldestAge; }, duration, 0, kDurationMost,
       "how long the oldest undelivered message may wait before health says so; 0: for ever"},
      {"health.peerDownFor", [](O& o) -> Slot { return &o.health.peerDownFor; }, duration, 0, kDurationMost,
       "how long a peer may be unreachable before health says so; 0: for ever"},
      {"peerHealth.lossTolerance", [](O& o) -> Slot { return &o.peerHealth.lossTolerance; }, count, 1, 1'000,
       "lost connections in a row before the peer counts as down"},
      {"peerHealth.killerPatience", [](O& o) -> Slot { return &o.peerHealth.killerPatience; }, duration, 0,
       kDurationMost, "how long a message must lose its connections before it is a dead letter"},
  };
  return kRows;
}

Rows<PeerOptions> peerOptionRows() {
  using O = PeerOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"maxRequests", [](O& o) -> Slot { return &o.maxRequests; }, count, 1, 64, "requests to it at once"},
      {"rateLimit.frames", [](O& o) -> Slot { return &o.rateLimit.frames; }, count, 0, 1'000'000,
       "frames in each `per`; 0: no limit"},
      {"rateLimit.per", [](O& o) -> Slot { return &o.rateLimit.per; }, duration, 1, 24ULL * 3'600'000,
       "the time that `frames` counts for"},
      {"rateLimit.burst", [](O& o) -> Slot { return &o.rateLimit.burst; }, count, 0, 1'000'000,
       "frames that may go at once after a pause; 0: as many as `frames`"},
  };
  return kRows;
}

Rows<RetryPolicy> retryOptionRows() {
  using O = RetryPolicy;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"maxRetries", [](O& o) -> Slot { return &o.maxRetries; }, count, 0, std::numeric_limits<std::uint32_t>::max(),
       "charged attempts after the first"},
      {"base", [](O& o) -> Slot { return &o.base; }, duration, 1, kDurationMost, "the first delay"},
      {"horizon", [](O& o) -> Slot { return &o.horizon; }, duration, 0, kDurationMost,
       "the age at which it becomes a dead letter; 0: never"},
  };
  return kRows;
}

void validate(const OutboxOptions& options) {
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
  checkOptions(outboxOptionRows(), options);
  checkRetry("retry", options.retry);
  checkRetry("webhookRetry", options.webhookRetry);
  checkSessionPolicies(options.sessionPolicies);
  // A probe delay of zero would be a busy loop against a peer that is down.
  checkDelays("peerHealth.probeDelays", options.peerHealth.probeDelays, milliseconds(1));
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
