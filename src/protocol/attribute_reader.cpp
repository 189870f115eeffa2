#include "protocol/attribute_reader.hpp"

#include "base/timestamp.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {

FrameResult refusalOf(std::string code, std::string detail) {
  FrameResult result;
  result.outcome = Outcome::term;
  result.code = std::move(code);
  result.detail = std::move(detail);
  return result;
}

void AttributeReader::text(std::string_view name, Need need, std::size_t bytesMax, std::string& into) {
  const std::optional<std::string_view> raw = members_.find(name);
  if (!raw) {
    complainIf(need == Need::required, name, "is missing");
    return;
  }
  const std::optional<std::string_view> value = members_.decode(*raw);
  if (!value || value->empty() || !isPlainText(*value, bytesMax)) {
    complainIf(true, name,
               "must be a string of 1 to " + std::to_string(bytesMax) + " bytes without control characters");
    return;
  }
  into = std::string(*value);
}

void AttributeReader::time(std::string_view name, std::optional<WallTime>& into) {
  if (const std::optional<std::string_view> raw = members_.find(name)) {
    into = parseTimestamp(members_.decode(*raw).value_or(""));
    complainIf(!into, name, "must be an RFC 3339 time");
  }
}

void AttributeReader::counter(std::string_view name, std::uint64_t& into) {
  const std::optional<std::uint64_t> value = parseCounter(members_.text(name).value_or(""));
  complainIf(!value, name, "must be a decimal string from 0 to 9223372036854775807");
  into = value.value_or(0);
}

void AttributeReader::complainIf(bool wrong, std::string_view name, std::string_view complaint) {
  if (wrong && !refusal_) {
    refusal_ = refusalOf("malformed", std::string(name) + " " + std::string(complaint));
  }
}

}  // namespace ackbox::protocol
