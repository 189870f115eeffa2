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

/// The receiving side: deduplicates, keeps each session's order, runs the handler in a short transaction, answers the
/// ACK document. Independent of HTTP; `InboundServer` puts it on a socket.
///
/// Frames of type `ackbox.ack.v1` (ACK events) are its own affair: they settle the manager's messages and reach no
/// handler. An ACK event settles a message only if its request was authenticated and its source is `PeerOptions::agent`
/// of the message's peer. With `InboundOptions::allowAnonymous` alone, the sender learns a deferred outcome at its next
/// `ackTimeout` (60 s). The event for a frame deferred here goes to the peer whose `agent` is the frame's `source`;
/// where no such peer is configured, the sender learns the outcome at its `ackTimeout`, too.
///
/// Thread-safety: `asyncHandle` may be called from any thread.
/// Lifetime: shares the manager's store, so the manager's file is the receiver's database. The manager may go first:
/// the file then stays open, and requests are taken, until the handler has gone. A server may outlive the handler, see
/// `InboundServer`; a handler that was moved goes on for it. Destruction waits for requests under way, so the frame
/// handler, and what it calls, must not destroy it. It asks deferred runs to stop, waits for those on threads of its
/// own (for a `DeferredFrame` that is kept elsewhere, `OutboxOptions::stopTimeout` at most), and frees the frames of
/// the others without a charge.
class InboundHandler {
public:
  /// Throws `Error` with `invalidOption`, or with `secretsUnreadable` where a peer's secrets cannot be read.
  InboundHandler(OutboxManager& manager, FrameHandler handler, InboundOptions options = {});
  InboundHandler(InboundHandler&&) noexcept;
  InboundHandler& operator=(InboundHandler&&) noexcept;
  ~InboundHandler();

  /// Handles one request and calls `respond` exactly once, on the store's thread or in the caller's, when everything
  /// that the response acknowledges is durable. Never throws for bad input: that gets a 4xx response.
  void asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond);

  [[nodiscard]] const InboundOptions& options() const noexcept;

private:
  friend class protocol::InboundPort;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
