// Goal: every documented range of OutboxOptions is checked, and the refusal names the field, the problem and the
// range, so that its reader needs no source.
// Method: change one field of valid options at a time; look at the error's code and the beginning of its text.

#include "ackbox/options.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "ackbox/error.hpp"
#include "base/policies.hpp"

using namespace std::chrono_literals;

namespace ackbox::options_test {
namespace {

using Change = std::function<void(OutboxOptions&)>;

/// The text of the refusal of default options with one change; empty when they are accepted.
std::string refusal(const Change& change) {
  OutboxOptions options;
  options.peers.resize(2);
  options.peers[0].name = "alice";
  options.peers[1].name = "bob";
  change(options);
  try {
    validate(options);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::invalidOption);
    return error.what();
  }
  return {};
}

void checkRefused(const std::string& start, const Change& change) {
  const std::string text = refusal(change);
  CHECK_MESSAGE(text.starts_with(start), "expected '" << start << "…', got '" << text << "'");
  CHECK_MESSAGE(text.find("allowed: ") != std::string::npos, text);
}

void checkAccepted(const Change& change) {
  CHECK(refusal(change) == "");
}

/// Checks the ends of a duration's range and what lies beyond them. `least` is 0 or 1 ms.
void checkDurationRange(const std::string& name, const std::function<std::chrono::milliseconds&(OutboxOptions&)>& field,
                        std::chrono::milliseconds least) {
  INFO(name);
  const std::chrono::milliseconds beyond = std::chrono::milliseconds::max();
  checkAccepted([&](OutboxOptions& options) { field(options) = least; });
  checkRefused(name + ": is " + std::to_string(least.count() - 1) + " ms",
               [&](OutboxOptions& options) { field(options) = least - 1ms; });
  checkRefused(name + ": is ", [&](OutboxOptions& options) { field(options) = beyond; });
}

}  // namespace

TEST_CASE("the default options are valid") {
  CHECK_NOTHROW(validate(OutboxOptions{}));
}

TEST_CASE("a refusal names the field, the problem and the allowed range") {
  CHECK(refusal([](OutboxOptions& options) { options.batchFrames = 257; }) ==
        "batchFrames: is 257, allowed: 1 to 256: an option cannot be used: give it another value");
}

TEST_CASE("the agent must not be empty") {
  checkRefused("agent: is empty", [](OutboxOptions& options) { options.agent.clear(); });
}

TEST_CASE("no peers at all are valid") {
  checkAccepted([](OutboxOptions& options) { options.peers.clear(); });
}

TEST_CASE("a peer's name has 1 to 256 bytes") {
  checkAccepted([](OutboxOptions& options) { options.peers[1].name = "b"; });
  checkAccepted([](OutboxOptions& options) { options.peers[1].name.assign(256, 'b'); });
  checkRefused("peers[1].name: has 0 bytes", [](OutboxOptions& options) { options.peers[1].name.clear(); });
  checkRefused("peers[1].name: has 257 bytes", [](OutboxOptions& options) { options.peers[1].name.assign(257, 'b'); });
}

TEST_CASE("two peers must not have the same name") {
  checkRefused("peers[1].name: 'alice' is used twice", [](OutboxOptions& options) { options.peers[1].name = "alice"; });
}

TEST_CASE("a peer takes 1 to 64 requests at once") {
  checkAccepted([](OutboxOptions& options) { options.peers[0].maxRequests = 1; });
  checkAccepted([](OutboxOptions& options) { options.peers[0].maxRequests = 64; });
  checkRefused("peers[0].maxRequests: is 0", [](OutboxOptions& options) { options.peers[0].maxRequests = 0; });
  checkRefused("peers[0].maxRequests: is 65", [](OutboxOptions& options) { options.peers[0].maxRequests = 65; });
}

TEST_CASE("a table prefix is a short identifier that SQLite does not reserve") {
  for (const std::string prefix : {"", "_", "Outbox2_", "sqlite", "sqlit_e", "my_sqlite_"}) {
    CAPTURE(prefix);
    checkAccepted([&](OutboxOptions& options) { options.tablePrefix = prefix; });
  }
  checkAccepted([](OutboxOptions& options) { options.tablePrefix.assign(32, 'x'); });
  checkRefused("tablePrefix: has 33 characters", [](OutboxOptions& options) { options.tablePrefix.assign(33, 'x'); });
  checkRefused("tablePrefix: starts with a digit", [](OutboxOptions& options) { options.tablePrefix = "1_"; });
  for (const std::string prefix : {"a b", "a-b", "a\"b", "a;b", "\xC3\xA4", "a'"}) {
    CAPTURE(prefix);
    checkRefused("tablePrefix: has a character", [&](OutboxOptions& options) { options.tablePrefix = prefix; });
  }
  for (const std::string prefix : {"sqlite_", "SQLite_x", "SQLITE_"}) {
    CAPTURE(prefix);
    checkRefused("tablePrefix: starts with 'sqlite_'", [&](OutboxOptions& options) { options.tablePrefix = prefix; });
  }
  checkRefused("tablePrefix: has a character",
               [](OutboxOptions& options) { options.tablePrefix = std::string("a\0b", 3); });
}

TEST_CASE("the frame, batch and checkpoint limits have ranges") {
  checkAccepted([](OutboxOptions& options) { options.frameBytesMax = 1; });
  checkAccepted([](OutboxOptions& options) { options.frameBytesMax = 64ULL << 20U; });
  checkRefused("frameBytesMax: is 0", [](OutboxOptions& options) { options.frameBytesMax = 0; });
  checkRefused("frameBytesMax: is 67108865",
               [](OutboxOptions& options) { options.frameBytesMax = (64ULL << 20U) + 1; });
  checkAccepted([](OutboxOptions& options) { options.batchFrames = 1; });
  checkAccepted([](OutboxOptions& options) { options.batchFrames = 256; });
  checkRefused("batchFrames: is 0", [](OutboxOptions& options) { options.batchFrames = 0; });
  checkRefused("batchBytes: is 0", [](OutboxOptions& options) { options.batchBytes = 0; });
  checkRefused("checkpointPages: is 0", [](OutboxOptions& options) { options.checkpointPages = 0; });
}

TEST_CASE("no limit on pending messages or bytes is valid") {
  checkAccepted([](OutboxOptions& options) { options.maxPending = options.maxPendingBytes = 0; });
  for (const std::uint32_t mode : {0600U, 0660U, 0777U}) {
    checkAccepted([mode](OutboxOptions& options) { options.fileMode = mode; });
  }
  for (const std::uint32_t mode : {0U, 0400U, 0066U, 01600U}) {
    checkRefused("fileMode: is ", [mode](OutboxOptions& options) { options.fileMode = mode; });
  }
}

TEST_CASE("durations for which nothing means something may be zero, the others may not") {
  checkDurationRange(
      "busyTimeout", [](OutboxOptions & options) -> auto& { return options.busyTimeout; }, 0ms);
  checkDurationRange(
      "ackedRetention", [](OutboxOptions & options) -> auto& { return options.ackedRetention; }, 0ms);
  checkDurationRange(
      "idempotencyRetention", [](OutboxOptions & options) -> auto& { return options.idempotencyRetention; }, 0ms);
  checkDurationRange(
      "health.oldestAge", [](OutboxOptions & options) -> auto& { return options.health.oldestAge; }, 0ms);
  checkDurationRange(
      "health.peerDownFor", [](OutboxOptions & options) -> auto& { return options.health.peerDownFor; }, 0ms);
  checkDurationRange(
      "webhookRetry.horizon", [](OutboxOptions & options) -> auto& { return options.webhookRetry.horizon; }, 0ms);
  checkDurationRange(
      "stopTimeout", [](OutboxOptions & options) -> auto& { return options.stopTimeout; }, 0ms);
  checkDurationRange(
      "retry.horizon", [](OutboxOptions & options) -> auto& { return options.retry.horizon; }, 0ms);
  checkDurationRange(
      "retry.delays[1]", [](OutboxOptions & options) -> auto& { return options.retry.delays[1]; }, 0ms);

  checkDurationRange(
      "requestTimeout", [](OutboxOptions & options) -> auto& { return options.requestTimeout; }, 1ms);
  checkDurationRange(
      "ackTimeout", [](OutboxOptions & options) -> auto& { return options.ackTimeout; }, 1ms);
  checkDurationRange(
      "pollInterval", [](OutboxOptions & options) -> auto& { return options.pollInterval; }, 1ms);
  checkDurationRange(
      "sharedPollInterval", [](OutboxOptions & options) -> auto& { return options.sharedPollInterval; }, 1ms);
  checkDurationRange(
      "peerHealth.probeDelays[0]", [](OutboxOptions & options) -> auto& { return options.peerHealth.probeDelays[0]; },
      1ms);
}

TEST_CASE("a peer may lose 1 to 1,000 connections before it is down, and a killer's patience may be nothing") {
  checkAccepted([](OutboxOptions& options) { options.peerHealth.lossTolerance = 1'000; });
  checkRefused("peerHealth.lossTolerance: is 0", [](OutboxOptions& options) { options.peerHealth.lossTolerance = 0; });
  checkRefused("peerHealth.lossTolerance: is 1001",
               [](OutboxOptions& options) { options.peerHealth.lossTolerance = 1'001; });
  checkDurationRange(
      "peerHealth.killerPatience", [](OutboxOptions & options) -> auto& { return options.peerHealth.killerPatience; },
      0ms);
}

TEST_CASE("row 12: sending acknowledged messages again needs some that are kept") {
  checkRefused("peerReset: is resend while `ackedRetention` is 0",
               [](OutboxOptions& options) { options.peerReset = PeerResetPolicy::resend; });
  checkRefused("peers[1].peerReset: is resend while `ackedRetention` is 0",
               [](OutboxOptions& options) { options.peers[1].peerReset = PeerResetPolicy::resend; });
  checkAccepted([](OutboxOptions& options) {
    options.peerReset = PeerResetPolicy::resend;
    options.ackedRetention = std::chrono::hours(1);
  });
}

TEST_CASE("a busy timeout fits SQLite's int of milliseconds") {
  constexpr std::chrono::milliseconds kMost{std::numeric_limits<int>::max()};
  checkAccepted([&](OutboxOptions& options) { options.busyTimeout = kMost; });
  checkRefused("busyTimeout: is 2147483648 ms", [&](OutboxOptions& options) { options.busyTimeout = kMost + 1ms; });
}

TEST_CASE("the lists of delays must not be empty") {
  checkRefused("retry.delays: is empty", [](OutboxOptions& options) { options.retry.delays.clear(); });
  checkRefused("webhookRetry.delays: is empty", [](OutboxOptions& options) { options.webhookRetry.delays.clear(); });
  checkRefused("peerHealth.probeDelays: is empty",
               [](OutboxOptions& options) { options.peerHealth.probeDelays.clear(); });
}

TEST_CASE("row 4: the retry policies of the outbox, of peers and of sessions are checked, and named") {
  checkRefused("retry.base: is 0 ms", [](OutboxOptions& options) { options.retry.base = 0ms; });
  checkRefused("retry.factor: is 0.5", [](OutboxOptions& options) { options.retry.factor = 0.5; });
  checkRefused("retry.factor: is nan",
               [](OutboxOptions& options) { options.retry.factor = std::numeric_limits<double>::quiet_NaN(); });
  checkRefused("retry.cap: is 10 ms", [](OutboxOptions& options) {
    options.retry.backoff = Backoff::exponential;
    options.retry.cap = 10ms;
  });
  checkRefused("retry.custom: is not set", [](OutboxOptions& options) { options.retry.backoff = Backoff::custom; });
  checkRefused("peers[0].retry.delays: is empty",
               [](OutboxOptions& options) { options.peers[0].retry.emplace().delays.clear(); });
  checkRefused("sessionPolicies[0].retry.delays: is empty",
               [](OutboxOptions& options) { options.sessionPolicies.emplace_back().retry.emplace().delays.clear(); });
  checkRefused("sessionPolicies[0].session: is empty",
               [](OutboxOptions& options) { options.sessionPolicies.emplace_back().session.clear(); });
  checkRefused("sessionPolicies[0].peer: is empty",
               [](OutboxOptions& options) { options.sessionPolicies.emplace_back().peer.clear(); });
}

TEST_CASE("row 11: a peer's rate limit is checked, and named") {
  checkRefused("peers[0].rateLimit.frames: is 1000001",
               [](OutboxOptions& options) { options.peers[0].rateLimit.frames = 1'000'001; });
  checkRefused("peers[0].rateLimit.per: is 0 ms", [](OutboxOptions& options) { options.peers[0].rateLimit.per = 0ms; });
  checkRefused("peers[0].rateLimit.burst: is 1000001",
               [](OutboxOptions& options) { options.peers[0].rateLimit.burst = 1'000'001; });
  checkRefused("peers[0].rateLimit.burst: is 3, but without `frames` there is no limit",
               [](OutboxOptions& options) { options.peers[0].rateLimit = {.burst = 3}; });
  checkRefused("peers[0].rateLimit: has a burst of 36525, which takes more than 100 years to come again",
               [](OutboxOptions& options) { options.peers[0].rateLimit = {.frames = 1, .per = 24h, .burst = 36'525}; });
}

TEST_CASE("row 8: of the policies that fit a session the nearest counts, field by field") {
  OutboxOptions options;
  options.peers = {{.name = "bob"}, {.name = "carol"}};
  options.retry.maxRetries = 1;
  options.peers[0].retry.emplace().maxRetries = 2;
  options.sessionPolicies = {{.session = "audit", .gap = GapPolicy::block},
                             {.peer = "bob", .session = "pay-*", .retry = RetryPolicy{.maxRetries = 3}},
                             {.session = "pay-2", .retry = RetryPolicy{.maxRetries = 4}}};
  CHECK(retryPolicyOf(options, "carol", "x").maxRetries == 1);
  CHECK(retryPolicyOf(options, "bob", "x").maxRetries == 2);
  CHECK(retryPolicyOf(options, "bob", "audit").maxRetries == 2);
  CHECK(retryPolicyOf(options, "bob", "pay-2").maxRetries == 3);
  CHECK(retryPolicyOf(options, "carol", "pay-2").maxRetries == 4);
  options.peers.push_back({.name = "hook", .profile = PeerProfile::webhook});
  options.webhookRetry.maxRetries = 5;
  CHECK(retryPolicyOf(options, "hook", "x").maxRetries == 5);
  CHECK(retryPolicyOf(options, "hook", "pay-2").maxRetries == 4);
  options.peers.back().retry.emplace().maxRetries = 6;
  CHECK(retryPolicyOf(options, "hook", "x").maxRetries == 6);
  CHECK((gapPolicyOf(options, "carol", "audit") == GapPolicy::block));
  CHECK((gapPolicyOf(options, "bob", "pay-2") == GapPolicy::skip));
  options.peers[0].gap = GapPolicy::block;
  CHECK((gapPolicyOf(options, "bob", "pay-2") == GapPolicy::block));
  CHECK(fits("*", ""));
  CHECK(fits("a*", "a"));
  CHECK_FALSE(fits("a*", "b"));
  CHECK_FALSE(fits("a", "ab"));
}

}  // namespace ackbox::options_test
