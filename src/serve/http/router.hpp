#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/operation.hpp"

namespace ackbox::serve {

/// An operation and what stands in its path, or which methods the path has.
struct Route {
  /// Null: the path has no such method, or there is no such path.
  const Operation* operation = nullptr;
  /// The values of the parts in braces, decoded.
  std::vector<std::string> path = {};
  /// `GET, POST`; empty: there is no such path.
  std::string allowed = {};
};

/// Finds the operation of a request. `path` is the target without its query.
[[nodiscard]] Route findRoute(std::span<const Operation> operations, std::string_view method, std::string_view path);

}  // namespace ackbox::serve
