#pragma once

#include <string_view>

#include "ackbox/message_page.hpp"
#include "ackbox/resending.hpp"
#include "manager/facade/core.hpp"

namespace ackbox::manager {

// See the functions of `OutboxOperator`.

[[nodiscard]] ResendReport resendTo(Core& core, std::string_view peer, const MessageFilter& filter);
[[nodiscard]] ResendReport resendAsNew(Core& core, const MessageFilter& filter);
[[nodiscard]] ResendReceipt resendAsNew(Core& core, std::string_view messageId);

}  // namespace ackbox::manager
