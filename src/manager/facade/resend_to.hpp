#pragma once

#include <string_view>

#include "ackbox/message_page.hpp"
#include "ackbox/publication.hpp"
#include "manager/facade/core.hpp"

namespace ackbox::manager {

/// See `OutboxOperator::resendTo`.
[[nodiscard]] ResendToReport resendTo(Core& core, std::string_view peer, const MessageFilter& filter);

}  // namespace ackbox::manager
