#pragma once

#include <span>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

template <>
std::span<const Field<SessionStats>> fields();

}  // namespace ackbox::records
