#pragma once

#include <span>

#include "serve/http/operation.hpp"

namespace ackbox::serve::page {

/// The views of the page, their assets, and the login. They are for people; proto/serve.openapi.json does not describe
/// them.
[[nodiscard]] std::span<const Operation> routes();

}  // namespace ackbox::serve::page
