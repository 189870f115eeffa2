#pragma once

#include <memory>

#include "ackbox/outbox_manager.hpp"

namespace ackbox::manager {

/// How the facades that are made from a manager share its core.
struct CoreOf {
  [[nodiscard]] static const std::shared_ptr<Core>& manager(const OutboxManager& manager) noexcept {
    return manager.core_;
  }
};

}  // namespace ackbox::manager
