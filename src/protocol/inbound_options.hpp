#pragma once

#include <span>

#include "ackbox/inbound_options.hpp"
#include "base/option.hpp"

namespace ackbox::protocol {

/// The numbers among the options, each with its range.
[[nodiscard]] std::span<const Option<InboundOptions>> inboundOptionRows();

/// Throws `OptionError` for the first option that cannot be used. `manager::PeerRegistry` checks the peers.
void checkInboundOptions(const InboundOptions& options);

}  // namespace ackbox::protocol
