#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/inbound_request.hpp"

namespace ackbox {
class InboundHandler;
}

namespace ackbox::protocol {

/// Which thread a request may take effect in, its `FrameHandler` included.
enum class HandlerThread : std::uint8_t {
  /// The store's alone.
  store,
  /// The caller's as well, if it may wait for the disk: a request of one frame, while no other is under way, is then
  /// spared two changes of threads.
  caller,
};

/// What a request's body is, and what its answer must be.
enum class RequestForm : std::uint8_t {
  /// CloudEvents, answered with an ACK document.
  cloudEvents,
  /// One frame as AGENIUM's agents write them, answered as they do: see `InboundServerOptions::compatibilityPath`.
  agenium,
};

/// What `InboundServer` asks of an `InboundHandler`, beyond what an application's own server needs.
///
/// Thread-safety: all members may be called from any thread.
class InboundPort {
public:
  InboundPort() = default;
  virtual ~InboundPort() = default;
  InboundPort(const InboundPort&) = delete;
  InboundPort& operator=(const InboundPort&) = delete;

  /// That of `handler`. Lifetime: the handler's, wherever it is moved.
  [[nodiscard]] static InboundPort& of(InboundHandler& handler);
  /// The same for a server, which may outlive the handler. A request that holds the port while the handler ends is
  /// answered with 503.
  [[nodiscard]] static std::weak_ptr<InboundPort> shared(InboundHandler& handler);

  /// As `InboundHandler::asyncHandle`, with the choice of the thread and of the form.
  virtual void handle(InboundRequest request, std::function<void(InboundResponse)> respond, HandlerThread thread,
                      RequestForm form) = 0;

  /// `InboundOptions::bodyBytesMax`.
  [[nodiscard]] virtual std::size_t bodyBytesMax() const noexcept = 0;

  /// Bytes of a request's body that are worth reading, by its headers alone; `body` may be empty. A request that brings
  /// neither a signature nor a certificate of a peer is refused whatever its body is, and is worth 4 KiB.
  [[nodiscard]] virtual std::size_t bodyBytesWorthReading(const InboundRequest& head) const = 0;

  /// Reports to the handler's manager that a server shows the certificate in this file; empty: none.
  virtual void usesCertificate(const std::filesystem::path& file) const = 0;

  /// Reports to the handler's manager what was thrown outside of any request, see `HealthCheck::process`.
  virtual void reportException(const std::string& what) noexcept = 0;
};

}  // namespace ackbox::protocol
