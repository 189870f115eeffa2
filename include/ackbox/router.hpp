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

/// Handles a frame on the sending side, where it is relayed into something local; see `Router::sender`. An exception is
/// a `notNow`; `defer` counts as one too.
using LocalHandler = std::function<HandlerResult(const OutboundFrame& frame)>;

/// Handlers by frame type, for an `InboundHandler` or for a local sink.
///
/// A pattern is a type (`com.example.order.placed`) or a beginning of types with a star for the rest (`com.example.*`,
/// or `*` for all). The exact type goes before the longest beginning. Registering a pattern again replaces its handler.
///
/// Thread-safety: none while handlers are registered; what `frameHandler`, `deferredHandler` and `sender` return has a
/// copy of its own, and is safe.
class Router {
public:
  Router();
  Router(const Router& other);
  Router(Router&&) noexcept;
  Router& operator=(Router other) noexcept;
  ~Router();

  /// Inbound frames that are handled in the short transaction.
  /// Throws `Error` with `invalidOption`: an empty pattern, a star that is not at its end, or an empty handler.
  Router& on(std::string pattern, FrameHandler handler);

  /// Inbound frames that are kept and worked on later, off the store's lock. Throws as `on`.
  Router& onDeferred(std::string pattern, DeferredHandler handler);

  /// Outbound frames of a local sink. Throws as `on`.
  Router& onLocal(std::string pattern, LocalHandler handler);

  /// The same with the payload decoded: `handler(const Value&, const InboundFrame&, InboundTransaction&)`.
  template <typename Value, typename Handler>
  Router& on(const Codec<Value>& codec, Handler handler) {
    return on(codec.type,
              [decode = codec.decode, handler = std::move(handler)](const InboundFrame& frame,
                                                                    InboundTransaction& transaction) -> HandlerResult {
                return handler(decoded(decode, frame.data), frame, transaction);
              });
  }
  /// `handler(const Value&, DeferredFrame)`.
  template <typename Value, typename Handler>
  Router& onDeferred(const Codec<Value>& codec, Handler handler) {
    return onDeferred(codec.type, [decode = codec.decode, handler = std::move(handler)](DeferredFrame frame) {
      // Decoded before the handle is given away.
      const Value value = decoded(decode, frame.frame().data);
      handler(value, std::move(frame));
    });
  }
  /// `handler(const Value&, const OutboundFrame&)`.
  template <typename Value, typename Handler>
  Router& onLocal(const Codec<Value>& codec, Handler handler) {
    return onLocal(codec.type,
                   [decode = codec.decode, handler = std::move(handler)](const OutboundFrame& frame) -> HandlerResult {
                     return handler(decoded(decode, frame.data), frame);
                   });
  }

  /// What to answer for a type that has no handler. Default: `reject` with code `unknown-type`. A `notNow` would hold
  /// the session's other frames up until the sender's budget is spent, and end in the same dead letter; it fits where a
  /// newer version of the receiver is on its way.
  Router& onUnknown(std::function<HandlerResult(std::string_view type)> answer);

  /// What to answer when a payload cannot be read (`Undecodable`); `why` is the decoder's text. Default: `reject` with
  /// code `undecodable` and no more, as the text may quote the payload.
  Router& onUndecodable(std::function<HandlerResult(std::string_view type, std::string_view why)> answer);

  /// For an `InboundHandler`: runs handlers given to `on`, and answers `defer` for those given to `onDeferred`.
  [[nodiscard]] FrameHandler frameHandler() const;

  /// For `DeferredOptions::handler`. Empty when no handler was given to `onDeferred`.
  [[nodiscard]] DeferredHandler deferredHandler() const;

  /// For `OutboxManager::setSender`: relays frames into the handlers given to `onLocal`, a frame at a time, in order,
  /// on a thread of its own; a session's later frames are held once one of them fails.
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
