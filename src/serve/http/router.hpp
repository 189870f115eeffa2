#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/operation.hpp"

namespace ackbox::serve {

/// The operation for a path and the values in the path, or the path's methods.
struct Route {
  /// Null if the path does not exist or has no such method.
  const Operation* operation = nullptr;
  /// The decoded values of the parts in braces.
  std::vector<std::string> path = {};
  /// `GET, POST`; empty if the path does not exist.
  std::string allowed = {};
};

/// Finds the operation of a request. `path` is the target without its query.
[[nodiscard]] Route findRoute(std::span<const Operation> operations, std::string_view method, std::string_view path);

}  // namespace ackbox::serve
