#include "serve/http/router.hpp"

#include <utility>

#include "serve/http/query.hpp"

namespace ackbox::serve {
namespace {

/// Removes and returns the text before the next `/`, and removes the `/`.
std::string_view takeSegment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size() < path.size() ? segment.size() + 1 : segment.size());
  return segment;
}

/// Matches one segment against one of a pattern: a literal, `{name}`, or `{name}:verb`.
bool matchSegment(std::string_view pattern, std::string_view segment, std::vector<std::string>& values) {
  if (!pattern.starts_with('{')) {
    return pattern == segment;
  }
  const std::string_view verb = pattern.substr(pattern.find('}') + 1);
  if (segment.size() <= verb.size() || !segment.ends_with(verb)) {
    return false;
  }
  segment.remove_suffix(verb.size());
  // A colon in a name must be written %3A, because a colon begins a verb.
  std::optional<std::string> value = percentDecoded(segment, false);
  if (!value || segment.find(':') != std::string_view::npos) {
    return false;
  }
  values.push_back(std::move(*value));
  return true;
}

std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::string> values;
  if (path.ends_with('/')) {
    return path == pattern ? std::optional(std::move(values)) : std::nullopt;
  }
  while (!pattern.empty() || !path.empty()) {
    const bool isEnd = pattern.empty() || path.empty();
    if (isEnd || !matchSegment(takeSegment(pattern), takeSegment(path), values)) {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace

Route findRoute(std::span<const Operation> operations, std::string_view method, std::string_view path) {
  Route route;
  for (const Operation& operation : operations) {
    std::optional<std::vector<std::string>> values = match(operation.path, path);
    if (!values) {
      continue;
    }
    if (operation.method == method) {
      route.operation = &operation;
      route.path = std::move(*values);
      return route;
    }
    route.allowed += (route.allowed.empty() ? "" : ", ") + std::string(operation.method);
  }
  return route;
}

}  // namespace ackbox::serve
