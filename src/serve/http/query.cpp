#include "serve/http/query.hpp"

#include <algorithm>
#include <charconv>

#include "base/duration.hpp"
#include "base/hex.hpp"
#include "base/timestamp.hpp"

namespace ackbox::serve {
std::optional<std::string> percentDecoded(std::string_view text, bool isQuery) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%') {
      const std::optional<char> byte = percentAt(text, at);
      if (!byte) {
        return std::nullopt;
      }
      decoded += *byte;
      at += 2;
    } else {
      decoded += isQuery && text[at] == '+' ? ' ' : text[at];
    }
  }
  return decoded;
}

std::optional<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) {
      continue;
    }
    const std::size_t equals = std::min(part.find('='), part.size());
    auto name = percentDecoded(part.substr(0, equals), true);
    auto value = percentDecoded(equals < part.size() ? part.substr(equals + 1) : std::string_view("true"), true);
    const auto isNamed = [&](const auto& other) { return other.first == *name; };
    if (!name || !value || std::ranges::any_of(query.parameters_, isNamed)) {
      return std::nullopt;
    }
    query.parameters_.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

std::optional<std::string> Query::text(std::string_view name) {
  const auto found = std::ranges::find_if(parameters_, [&](const auto& one) { return one.first == name; });
  if (found == parameters_.end()) {
    return std::nullopt;
  }
  std::string value = std::move(found->second);
  parameters_.erase(found);
  return value;
}

std::optional<std::uint64_t> Query::count(std::string_view name, std::uint64_t most) {
  const std::optional<std::string> value = text(name);
  if (!value) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const char* const last = value->data() + value->size();
  const auto [end, error] = std::from_chars(value->data(), last, number);
  if (error != std::errc() || end != last || value->empty() || number > most) {
    throw InvalidRequest(std::string(name) + " must be a whole number from 0 to " + std::to_string(most));
  }
  return number;
}

std::optional<std::chrono::milliseconds> Query::duration(std::string_view name) {
  const std::optional<std::string> value = text(name);
  if (!value) {
    return std::nullopt;
  }
  const auto parsed = parseDuration(*value);
  if (!parsed) {
    throw InvalidRequest(std::string(name) + " must be a duration, such as 500ms, 10s, 5m, 2h or 7d");
  }
  return parsed;
}

WallTime instantOf(std::string_view name, std::string_view text) {
  const std::optional<WallTime> instant = parseTimestamp(text);
  if (!instant) {
    throw InvalidRequest(std::string(name) + " must be an instant, such as 2026-01-31T12:00:00Z");
  }
  return *instant;
}

std::optional<WallTime> Query::instant(std::string_view name) {
  const std::optional<std::string> value = text(name);
  return value ? std::optional(instantOf(name, *value)) : std::nullopt;
}

bool Query::flag(std::string_view name) {
  const std::optional<std::string> value = text(name);
  if (value && *value != "true" && *value != "false") {
    throw InvalidRequest(std::string(name) + " must be true or false");
  }
  return value == "true";
}

void Query::finish() const {
  if (!parameters_.empty()) {
    throw InvalidRequest("this operation has no parameter '" + parameters_.front().first + "'");
  }
}

}  // namespace ackbox::serve
