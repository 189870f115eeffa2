#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/codec.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/sender.hpp"

namespace ackbox {

/// A payload that cannot be read. Thrown by a decoder, or by a handler that decodes by itself; the router then asks
/// `onUndecodable`.
class Undecodable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Handles a frame at the sender, when it is relayed to a local destination; see `Router::sender`. An exception counts
/// as `notNow`, and so does `defer`.
using LocalHandler = std::function<HandlerResult(const OutboundFrame& frame)>;

/// Handlers by frame type, for an `InboundHandler` or for a local sink.
///
/// A pattern is a type (`com.example.order.placed`), or a prefix followed by a star (`com.example.*`, or `*` for all).
/// An exact type takes precedence over a prefix, and a longer prefix over a shorter one. Registering a pattern again
/// replaces its handler.
///
/// Thread-safety: none while handlers are registered; what `frameHandler`, `deferredHandler` and `sender` return has
/// its own copy of the handlers and is thread-safe.
class Router {
public:
  Router();
  Router(const Router& other);
  Router(Router&&) noexcept;
  Router& operator=(Router other) noexcept;
  ~Router();

  /// Registers a handler that runs in an inbound frame's short transaction.
  /// Throws `Error` with `invalidOption`: an empty pattern, a star that is not at its end, or an empty handler.
  Router& on(std::string pattern, FrameHandler handler);

  /// Registers a handler for inbound frames that are deferred and worked on later, off the store's lock. Throws as
  /// `on`.
  Router& onDeferred(std::string pattern, DeferredHandler handler);

  /// Registers a handler for outbound frames of a local destination. Throws as `on`.
  Router& onLocal(std::string pattern, LocalHandler handler);

  /// As `on`, with the payload decoded: `handler(const Value&, const InboundFrame&, InboundTransaction&)`.
  template <typename Value, typename Handler>
  Router& on(const Codec<Value>& codec, Handler handler) {
    return on(codec.type,
              [decode = codec.decode, handler = std::move(handler)](const InboundFrame& frame,
                                                                    InboundTransaction& transaction) -> HandlerResult {
                return handler(decoded(decode, frame.data), frame, transaction);
              });
  }
  /// As `onDeferred`, with the payload decoded: `handler(const Value&, DeferredFrame)`.
  template <typename Value, typename Handler>
  Router& onDeferred(const Codec<Value>& codec, Handler handler) {
    return onDeferred(codec.type, [decode = codec.decode, handler = std::move(handler)](DeferredFrame frame) {
      // Decoded before the handle is given away.
      const Value value = decoded(decode, frame.frame().data);
      handler(value, std::move(frame));
    });
  }
  /// As `onLocal`, with the payload decoded: `handler(const Value&, const OutboundFrame&)`.
  template <typename Value, typename Handler>
  Router& onLocal(const Codec<Value>& codec, Handler handler) {
    return onLocal(codec.type,
                   [decode = codec.decode, handler = std::move(handler)](const OutboundFrame& frame) -> HandlerResult {
                     return handler(decoded(decode, frame.data), frame);
                   });
  }

  /// Sets the answer for a type without a handler. Default: `reject` with code `unknown-type`. A `notNow` would hold up
  /// the session's other frames until the sender's budget is spent, and end in the same dead letter; use it if a newer
  /// version of the receiver is about to be deployed.
  Router& onUnknown(std::function<HandlerResult(std::string_view type)> answer);

  /// Sets the answer for a payload that cannot be read (`Undecodable`); `why` is the decoder's text. Default: `reject`
  /// with code `undecodable` and a fixed detail, because the decoder's text may quote the payload.
  Router& onUndecodable(std::function<HandlerResult(std::string_view type, std::string_view why)> answer);

  /// For an `InboundHandler`: runs the handlers given to `on`, and answers `defer` for types given to `onDeferred`.
  [[nodiscard]] FrameHandler frameHandler() const;

  /// For `DeferredOptions::handler`. Empty when no handler was given to `onDeferred`.
  [[nodiscard]] DeferredHandler deferredHandler() const;

  /// For `OutboxManager::setSender`: relays frames to the handlers given to `onLocal`, one frame at a time, in order,
  /// on a thread of its own; once a frame of a session fails, the session's later frames are held.
  [[nodiscard]] std::shared_ptr<Sender> sender() const;

private:
  struct Table;

  template <typename Decode>
  [[nodiscard]] static auto decoded(const Decode& decode, std::string_view data) {
    try {
      return decode(data);
    } catch (const Undecodable&) {
      throw;
    } catch (const std::exception& error) {
      throw Undecodable(error.what());
    } catch (...) {
      throw Undecodable("an exception of an unknown type");
    }
  }

  std::unique_ptr<Table> table_;
};

}  // namespace ackbox
