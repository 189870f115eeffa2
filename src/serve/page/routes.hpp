#pragma once

#include <span>

#include "serve/http/operation.hpp"

namespace ackbox::serve::page {

/// The views of the page, what belongs to them, and the login. They are for people, and not described by
/// proto/serve.openapi.json.
[[nodiscard]] std::span<const Operation> routes();

}  // namespace ackbox::serve::page
