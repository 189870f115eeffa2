#pragma once

#include "ackbox/publication.hpp"
#include "records/field.hpp"

namespace ackbox::records {

template <>
[[nodiscard]] std::span<const Field<PeerSubscription>> fields();
template <>
[[nodiscard]] std::span<const Field<PublishedMessage>> fields();

}  // namespace ackbox::records
