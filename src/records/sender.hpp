#pragma once

#include <span>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// The fields of a sender of inbound frames.
template <>
std::span<const Field<InboundSenderStats>> fields();
/// The fields of one of a sender's stores.
template <>
std::span<const Field<InboundOriginStats>> fields();

}  // namespace ackbox::records
