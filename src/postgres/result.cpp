#include "postgres/result.hpp"

#include <charconv>

namespace ackbox::postgres {
namespace {

constexpr Oid kBytea = 17;

template <typename Integer>
Integer parsed(std::string_view text) noexcept {
  Integer value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string bytesOf(std::string_view hex) {
  const auto digit = [](char character) {
    return static_cast<unsigned>(character <= '9' ? character - '0' : character - 'a' + 10);
  };
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  // Behind the two characters \x.
  for (std::size_t place = 2; place + 1 < hex.size(); place += 2) {
    bytes += static_cast<char>(digit(hex[place]) << 4U | digit(hex[place + 1]));
  }
  return bytes;
}

}  // namespace

std::int64_t Row::integer(int column) const noexcept {
  const std::string_view text = view(column);
  if (text == "t") {
    return 1;
  }
  return parsed<std::int64_t>(text);
}

std::string_view Row::view(int column) const noexcept {
  return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

std::string Row::text(int column) const {
  return PQftype(result_, column) == kBytea ? bytesOf(view(column)) : std::string(view(column));
}

std::size_t Result::changed() const noexcept {
  return parsed<std::size_t>(PQcmdTuples(result_.get()));
}

std::vector<std::int64_t> Result::integers() const {
  std::vector<std::int64_t> values;
  values.reserve(size());
  for (const Row& row : *this) {
    values.push_back(row.integer(0));
  }
  return values;
}

}  // namespace ackbox::postgres
