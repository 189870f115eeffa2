#pragma once

#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/sender.hpp"
#include "protocol/secret_cache.hpp"
#include "transport/http_exchange.hpp"

namespace ackbox::transport {

/// A sent request, and what is needed to read its answer.
struct SentRequest {
  SendRequest request;
  std::string delivery;
  PeerProfile profile = PeerProfile::native;
  // Null: nothing is signed.
  std::shared_ptr<protocol::KeyCache> keys;
  // Whether it had headers of the user's own.
  bool hasOwnHeaders = false;
};

/// Whether the status of a peer's answers is the ACK.
[[nodiscard]] bool isSettledByStatus(PeerProfile profile) noexcept;

/// A report of a request that ended without an answer for each frame.
[[nodiscard]] SendReport failure(RequestOutcome outcome, std::string error);

/// What the end of the exchange says of the request. An exception while the answer is read is the failure of its own
/// request.
[[nodiscard]] SendReport reportOf(const SentRequest& sent, HttpAnswer&& answer, WallTime now);

}  // namespace ackbox::transport
