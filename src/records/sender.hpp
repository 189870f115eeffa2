#pragma once

#include <span>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// Of a sender of inbound frames.
template <>
std::span<const Field<InboundSenderStats>> fields();
/// Of one of its stores.
template <>
std::span<const Field<InboundOriginStats>> fields();

}  // namespace ackbox::records
