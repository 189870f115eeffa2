#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ackbox {

/// The parts of an HTTP request that the protocol uses.
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
  /// `outbox-version` and `traceparent`, as received; empty if missing.
  std::string version = {};
  std::string traceparent = {};
  /// The `ce-` headers, each by the attribute's name in lower case, with the value as received: an event in binary
  /// mode.
  std::vector<std::pair<std::string, std::string>> eventHeaders = {};
  /// The request's path. `InboundServer` uses it (`compatibilityPath`); an `InboundHandler` does not.
  std::string target = {};
  /// Whether it has a header `Origin` or `Sec-Fetch-Site`, as browsers send them.
  bool fromBrowser = false;
  /// Whether it came to a loopback address of this machine. `host` is its `Host` header as received.
  bool onLoopback = false;
  std::string host = {};
  /// The `source` of the event in a request that a `MailboxFetcher` of this process made; empty in any other. Nothing
  /// that a request from outside contains may set it: it is proof of the sender, see `InboundPeer::byMailbox`.
  std::string fetchedFrom = {};
};

/// The response to an `InboundRequest`.
struct InboundResponse {
  int status = 200;
  std::string contentType = {};
  std::string body = {};
  /// `Retry-After` in seconds.
  std::optional<std::uint32_t> retryAfterSeconds = {};
  /// Further headers, such as the answer's signature.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Whether the request proved its sender, or needs no proof. Not sent to the peer: a server keeps such connections
  /// longer.
  bool authenticated = false;
};

}  // namespace ackbox
