#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ackbox::serve {

/// A request that its operation cannot take, with a sentence for its caller. Answered with 422.
class InvalidRequest : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// `text` with its `%41` decoded, and in a query `+` as a blank. Nothing where a `%` is followed by no two hexadecimal
/// digits.
[[nodiscard]] std::optional<std::string> percentDecoded(std::string_view text, bool isQuery);

/// The parameters behind the `?` of a request. Each accessor takes one out; `finish` refuses those that are left, so
/// that a misspelt filter does not choose everything.
class Query {
public:
  Query() = default;

  /// Nothing: it cannot be decoded, or a name occurs twice.
  [[nodiscard]] static std::optional<Query> parse(std::string_view text);

  // Each throws `InvalidRequest` for a value that is not of its kind.

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t most);
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view name);
  /// `true`, `false`, or the name alone. Absent: false.
  [[nodiscard]] bool flag(std::string_view name);

  /// Throws `InvalidRequest` naming a parameter that no accessor has taken.
  void finish() const;

private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace ackbox::serve
