#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::serve {

/// A request that its operation cannot process, with a sentence for the caller. Answered with 422.
class InvalidRequest : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// `text` with `%41` and the like decoded, and in a query `+` as a space. Nothing if a `%` is not followed by two
/// hexadecimal digits.
[[nodiscard]] std::optional<std::string> percentDecoded(std::string_view text, bool isQuery);

/// Reads an instant. Throws `InvalidRequest`, which names the parameter or member.
[[nodiscard]] WallTime instantOf(std::string_view name, std::string_view text);

/// The parameters after the `?` of a request. Each accessor removes one; `finish` refuses those that are left, so that
/// a misspelt filter does not match everything.
class Query {
public:
  Query() = default;

  /// Returns nothing if the text cannot be decoded, or a name occurs twice.
  [[nodiscard]] static std::optional<Query> parse(std::string_view text);

  // Each accessor throws `InvalidRequest` for a value of another type.

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t most);
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view name);
  [[nodiscard]] std::optional<WallTime> instant(std::string_view name);
  /// `true`, `false`, or the name alone, which means true. False if absent.
  [[nodiscard]] bool flag(std::string_view name);

  /// Throws `InvalidRequest` naming a parameter that no accessor has removed.
  void finish() const;

private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace ackbox::serve
