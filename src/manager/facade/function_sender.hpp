#pragma once

#include <functional>
#include <memory>

#include "ackbox/sender.hpp"

namespace ackbox::manager {

/// What became of one frame; an exception is a `nack`.
using FrameFunction = std::function<FrameResult(const OutboundFrame& frame)>;

/// A `Sender` over a function that handles one frame and blocks until it is done, run on one thread of its own: a frame
/// at a time, in order, a session's later frames held once one of them fails.
[[nodiscard]] std::shared_ptr<Sender> makeFrameSender(FrameFunction function);

/// The same over a function that answers with success or an error only.
[[nodiscard]] std::shared_ptr<Sender> makeFunctionSender(SendFunction function);

/// Whether this thread is inside the send function of `sender`.
[[nodiscard]] bool sendsInThisThread(const Sender* sender) noexcept;

}  // namespace ackbox::manager
