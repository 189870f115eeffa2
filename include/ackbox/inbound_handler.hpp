#pragma once

#include <functional>
#include <memory>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"

namespace ackbox {

class OutboxManager;

namespace protocol {
class InboundPort;
}

/// The receiving side: deduplicates, keeps each session's order, runs the handler in a short transaction, and answers
/// with the ACK document. Independent of HTTP; `InboundServer` puts it on a socket.
///
/// It processes frames of type `ackbox.ack.v1` (ACK events) itself: they settle the manager's messages and reach no
/// handler. An ACK event settles a message only if its request was authenticated and its source is `PeerOptions::agent`
/// of the message's peer. With `InboundOptions::allowAnonymous` alone, the sender learns a deferred outcome at its next
/// `ackTimeout` (60 s). The event for a frame deferred here goes to the peer with the frame's `source` as its `agent`;
/// if no such peer is configured, the sender also learns the outcome at its `ackTimeout`.
///
/// Thread-safety: `asyncHandle` may be called from any thread.
/// Lifetime: shares the manager's store, so the manager's file is the receiver's database. The manager may be destroyed
/// first: the file then stays open, and requests are accepted, until the handler is destroyed. A server may outlive the
/// handler, see `InboundServer`; if the handler is moved, the server goes on with it. Destruction waits for requests
/// under way, so neither the frame handler nor anything it calls may destroy this object. It asks deferred runs to
/// stop, waits for those on its own threads (for a `DeferredFrame` that is kept elsewhere, `OutboxOptions::stopTimeout`
/// at most), and releases the frames of the others without a charge.
class InboundHandler {
public:
  /// Throws `Error` with `invalidOption`, or with `secretsUnreadable` where a peer's secrets cannot be read.
  InboundHandler(OutboxManager& manager, FrameHandler handler, InboundOptions options = {});
  InboundHandler(InboundHandler&&) noexcept;
  InboundHandler& operator=(InboundHandler&&) noexcept;
  ~InboundHandler();

  /// Handles one request and calls `respond` exactly once, on the store's thread or on the caller's, when everything
  /// that the response acknowledges is durable. Never throws for bad input, which gets a 4xx response.
  void asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond);

  [[nodiscard]] const InboundOptions& options() const noexcept;

private:
  friend class protocol::InboundPort;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
