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

/// What a handler's call needs of its surroundings. All outlive it.
struct ScopeContext {
  const OutboxOptions& outbox;
  const InboundOptions& inbound;
  /// Of what the handler enqueues.
  const Tracer& enqueues;
};

/// Calls `effects` in a scope of its own inside the open transaction: what it wrote stays only with an `ack`. What it
/// throws is `notNow` with code `handler-error`, and reported to `onHandlerError`; the peer does not learn it. `what`,
/// where it is given, gets the text.
///
/// Throws `Error`, and the transaction is lost. With `handlerEndedTransaction` the same call must not be made again;
/// any other code is the store's failure, such as a full disk, for which SQLite undid the transaction by itself.
[[nodiscard]] HandlerResult callInScope(store::Store& store, const ScopeContext& context, const InboundFrame& frame,
                                        const std::function<HandlerResult(InboundTransaction&)>& effects,
                                        std::string* what = nullptr);

/// A handler threw, or ended without an answer: calls `onHandlerError` and makes the answer that the peer gets.
[[nodiscard]] HandlerResult handlerFailed(const InboundOptions& options, const InboundFrame& frame, const char* what);

/// The answer as it travels. A `result` that cannot be carried is left out: `detail` says so to the sender, and
/// `leftOut`, where it is given, gets why.
[[nodiscard]] FrameResult toFrameResult(HandlerResult answer, std::string_view* leftOut = nullptr);

/// Says in the log that the frame's result was left out, and why; without a sink once for each type of frame.
void reportLeftOut(Log& log, const InboundFrame& frame, std::string_view leftOut) noexcept;

}  // namespace ackbox::manager
