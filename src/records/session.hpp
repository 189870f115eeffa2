#pragma once

#include <span>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

[[nodiscard]] std::span<const Field<SessionStats>> sessionFields();
[[nodiscard]] json::Line lineOf(const SessionStats& session);

}  // namespace ackbox::records
