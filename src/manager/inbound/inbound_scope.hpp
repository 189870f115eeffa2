#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/options.hpp"
#include "manager/log/log.hpp"
#include "manager/log/tracer.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// The transaction of a handler, for code that needs what only one kind of store has.
class StoreTransaction : public InboundTransaction {
public:
  [[nodiscard]] virtual store::Store& store() noexcept = 0;
};

/// The surroundings of a handler's call. All of them outlive it.
struct ScopeContext {
  const OutboxOptions& outbox;
  const InboundOptions& inbound;
  /// The tracer of the frames that the handler enqueues.
  const Tracer& enqueues;
};

/// Calls `effects` in its own scope inside the open transaction: its writes are kept only with an `ack`. An exception
/// gives `notNow` with code `handler-error`, and is reported to `onHandlerError`, but not to the peer. `what`, if
/// given, gets the exception's text.
///
/// If it throws `Error`, the transaction is lost. With `handlerEndedTransaction` the call must not be repeated; any
/// other code is a failure of the store, such as a full disk, for which SQLite rolled the transaction back.
[[nodiscard]] HandlerResult callInScope(store::Store& store, const ScopeContext& context, const InboundFrame& frame,
                                        const std::function<HandlerResult(InboundTransaction&)>& effects,
                                        std::string* what = nullptr);

/// A handler threw, or ended without an answer: calls `onHandlerError` and returns the answer for the peer.
[[nodiscard]] HandlerResult handlerFailed(const InboundOptions& options, const InboundFrame& frame, const char* what);

/// The answer in its form on the wire. A `result` that cannot be carried is left out: `detail` informs the sender, and
/// `leftOut`, if given, gets the reason.
[[nodiscard]] FrameResult toFrameResult(HandlerResult answer, std::string_view* leftOut = nullptr);

/// Logs that the frame's result was left out, and the reason; without a sink, once for each type of frame.
void reportLeftOut(Log& log, const InboundFrame& frame, std::string_view leftOut) noexcept;

/// Logs that the handler deferred a frame for which there is no deferred handler, as `reportLeftOut`.
void reportCannotDefer(Log& log, const InboundFrame& frame) noexcept;

}  // namespace ackbox::manager
