#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbox.hpp"

namespace ackbox::store {

/// Applications as a store keeps them: a line each, of types, the milliseconds of `awaySince` or 0, and the cause,
/// apart by tabs. Of one with a `silent` consumer its frames, the milliseconds of `since`, and its name follow.
[[nodiscard]] std::string applicationLines(std::span<const Application> applications);

/// The same, read; a line that is not of this form, and what follows it, is passed over.
[[nodiscard]] std::vector<Application> readApplicationLines(std::string_view lines);

/// The application that frames of this type are for; null: none is known.
[[nodiscard]] const Application* applicationOf(std::span<const Application> applications, std::string_view type);

}  // namespace ackbox::store
