#pragma once

#include <memory>

#include "ackbox/outbox_manager.hpp"

namespace ackbox::manager {

/// Gives the facades made from a manager access to its core.
struct CoreOf {
  [[nodiscard]] static const std::shared_ptr<Core>& manager(const OutboxManager& manager) noexcept {
    return manager.core_;
  }
};

}  // namespace ackbox::manager
