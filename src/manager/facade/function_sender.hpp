#pragma once

#include <functional>
#include <memory>

#include "ackbox/sender.hpp"

namespace ackbox::manager {

/// Returns the outcome of one frame; an exception is a `nack`.
using FrameFunction = std::function<FrameResult(const OutboundFrame& frame)>;

/// A `Sender` over a function that handles one frame and blocks until it is done. It runs on one thread of its own, one
/// frame at a time and in order; after a failure, the session's later frames are held.
[[nodiscard]] std::shared_ptr<Sender> makeFrameSender(FrameFunction function);

/// The same over a function that only reports success or an error.
[[nodiscard]] std::shared_ptr<Sender> makeFunctionSender(SendFunction function);

/// Whether this thread is inside the send function of `sender`.
[[nodiscard]] bool sendsInThisThread(const Sender* sender) noexcept;

}  // namespace ackbox::manager
