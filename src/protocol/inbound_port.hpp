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

/// The threads in which a request, including its `FrameHandler`, may take effect.
enum class HandlerThread : std::uint8_t {
  /// Only the store's thread.
  store,
  /// Also the caller's thread, if it may wait for the disk: a request of one frame, while no other is under way, is
  /// then spared two changes of threads.
  caller,
};

/// The form of a request's body and of its answer.
enum class RequestForm : std::uint8_t {
  /// CloudEvents, answered with an ACK document.
  cloudEvents,
  /// One frame in the form of AGENIUM's agents, answered in their form: see `InboundServerOptions::compatibilityPath`.
  agenium,
};

/// The functions of an `InboundHandler` that `InboundServer` needs beyond those for an application's own server.
///
/// Thread-safety: all members may be called from any thread.
class InboundPort {
public:
  InboundPort() = default;
  virtual ~InboundPort() = default;
  InboundPort(const InboundPort&) = delete;
  InboundPort& operator=(const InboundPort&) = delete;

  /// The port of `handler`. Lifetime: the handler's, wherever it is moved.
  [[nodiscard]] static InboundPort& of(InboundHandler& handler);
  /// The same for a server, which may outlive the handler. A request that holds the port while the handler ends is
  /// answered with 503.
  [[nodiscard]] static std::weak_ptr<InboundPort> shared(InboundHandler& handler);

  /// Like `InboundHandler::asyncHandle`, with the choice of the thread and of the form.
  virtual void handle(InboundRequest request, std::function<void(InboundResponse)> respond, HandlerThread thread,
                      RequestForm form) = 0;

  /// `InboundOptions::bodyBytesMax`.
  [[nodiscard]] virtual std::size_t bodyBytesMax() const noexcept = 0;

  /// How many bytes of a request's body are worth reading, from its headers alone; `body` may be empty. A request with
  /// neither a signature nor a certificate of a peer is refused whatever its body is; for it the answer is 4 KiB.
  [[nodiscard]] virtual std::size_t bodyBytesWorthReading(const InboundRequest& head) const = 0;

  /// Reports to the handler's manager that a server uses the certificate in this file; empty: it uses none.
  virtual void usesCertificate(const std::filesystem::path& file) const = 0;

  /// Reports to the handler's manager an exception outside of any request, see `HealthCheck::process`.
  virtual void reportException(const std::string& what) noexcept = 0;
};

}  // namespace ackbox::protocol
