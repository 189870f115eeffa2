#include "json/checked.hpp"

#include <charconv>
#include <limits>

#include "json/fault.hpp"

namespace ackbox::json {
namespace {

/// The problem of the text as a value of `kind`; empty: it is valid.
std::string problemOf(std::string_view text, Kind kind) {
  const FoundFault found = locateFault(text, std::numeric_limits<std::size_t>::max());
  const bool isOther = kindOf(trim(text)) != kind;
  if (found.fault == Fault::none && !isOther) {
    return {};
  }
  if (found.fault == Fault::encoding) {
    return "it is not UTF-8";
  }
  if (isOther) {
    return kind == Kind::object ? "it is not a JSON object" : "it is not a JSON array";
  }
  return found.position == text.size()
             ? "it is not JSON: it ends too early"
             : "it is not JSON: byte " + std::to_string(found.position + 1) + " is unexpected";
}

}  // namespace

std::string_view withoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  return text;
}

CheckedMembers readObject(std::string_view text) {
  CheckedMembers checked;
  checked.problem = problemOf(text, Kind::object);
  std::size_t position = skipSpace(text, 0);
  if (checked.problem.empty() && !checked.members.readAt(text, position)) {
    checked.problem = checked.members.problem();
  }
  return checked;
}

CheckedElements readArray(std::string_view text, std::size_t most) {
  CheckedElements checked;
  checked.problem = problemOf(text, Kind::array);
  if (!checked.problem.empty()) {
    return checked;
  }
  for (ElementReader reader(trim(text)); !reader.atEnd();) {
    if (checked.values.size() == most) {
      checked.problem = "the array has more than " + std::to_string(most) + " values";
      break;
    }
    checked.values.push_back(*reader.next());
  }
  return checked;
}

std::optional<std::uint64_t> wholeNumber(std::string_view value) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::optional(number) : std::nullopt;
}

}  // namespace ackbox::json
