#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ackbox {

/// One HTTP request, as far as the protocol cares.
struct InboundRequest {
  std::string contentType = {};
  std::string body = {};
  /// `webhook-id`; echoed as `delivery`.
  std::string webhookId = {};
  /// `webhook-timestamp` and `webhook-signature`, as received.
  std::string webhookTimestamp = {};
  std::string webhookSignature = {};
  /// `outbox-agent`: the agent URI that the sender claims. It chooses the keys to verify with, and proves nothing.
  std::string claimedAgent = {};
  /// The URIs in the client's certificate, if mutual TLS verified one.
  std::vector<std::string> certificateAgents = {};
  /// `outbox-version` and `traceparent`, as received; empty: there was none.
  std::string version = {};
  std::string traceparent = {};
  /// The `ce-` headers, each by the attribute's name in lower case, with the value as received: an event in binary
  /// mode.
  std::vector<std::pair<std::string, std::string>> eventHeaders = {};
  /// The path that it came to. `InboundServer` goes by it (`compatibilityPath`); an `InboundHandler` does not.
  std::string target = {};
  /// It has a header `Origin` or `Sec-Fetch-Site`, as browsers send them.
  bool fromBrowser = false;
  /// It came to a loopback address of this machine, and says that it is for `host`, its `Host` header as received.
  bool onLoopback = false;
  std::string host = {};
};

/// What to answer.
struct InboundResponse {
  int status = 200;
  std::string contentType = {};
  std::string body = {};
  /// `Retry-After` in seconds.
  std::optional<std::uint32_t> retryAfterSeconds = {};
  /// Further headers, such as the answer's signature.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Whether the request brought a proof of its sender, or needs none. It does not travel: a server keeps such
  /// connections longer.
  bool authenticated = false;
};

}  // namespace ackbox
