#pragma once

#include "ackbox/options.hpp"

namespace ackbox {

/// `options` with the system's clock and randomness where none are given. Throws as `validate`.
[[nodiscard]] OutboxOptions validated(OutboxOptions options);

}  // namespace ackbox
