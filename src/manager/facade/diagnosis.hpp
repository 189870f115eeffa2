#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/peer_status.hpp"
#include "manager/facade/core.hpp"

namespace ackbox::manager {

/// See `OutboxReader::peers`; includes the state known to this process's run.
[[nodiscard]] std::vector<PeerStatus> peers(Core& core);

/// See `OutboxManager::explain`.
[[nodiscard]] std::optional<Explanation> explain(Core& core, std::string_view messageId);

}  // namespace ackbox::manager
