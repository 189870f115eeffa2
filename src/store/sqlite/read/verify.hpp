#pragma once

#include "store/sqlite/open.hpp"

namespace ackbox::store::sqlite {

/// See `VerifyReport::hasCheckpointDefect`.
[[nodiscard]] bool hasCheckpointDefect() noexcept;

}  // namespace ackbox::store::sqlite
