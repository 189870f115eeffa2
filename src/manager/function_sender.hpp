#pragma once

#include <memory>

#include "ackbox/sender.hpp"

namespace ackbox::manager {

/// A `Sender` over a blocking `SendFunction`, run on one thread of its own: a frame at a time, in order, a session's
/// later frames held once one of them fails.
[[nodiscard]] std::shared_ptr<Sender> makeFunctionSender(SendFunction function);

/// Whether this thread is inside the send function of `sender`.
[[nodiscard]] bool sendsInThisThread(const Sender* sender) noexcept;

}  // namespace ackbox::manager
