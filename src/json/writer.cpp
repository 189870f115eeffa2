#include "json/writer.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "base/byte_search.hpp"
#include "base/timestamp.hpp"
#include "json/fault.hpp"
#include "json/utf8.hpp"

namespace ackbox::json {
namespace {

void appendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  for (std::size_t position = 0; position < text.size(); ++position) {
    const std::size_t end = plainEnd(text, position);
    out.append(text.substr(position, end - position));
    if (end == text.size()) {
      break;
    }
    position = end;
    const char letter = text[position];
    if (letter == '"' || letter == '\\') {
      out.push_back('\\');
      out.push_back(letter);
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      out.append("\\u00");
      out.push_back(kHexDigits[byte >> 4U]);
      out.push_back(kHexDigits[byte & 0xFU]);
    }
  }
}

void appendNumber(std::string& out, std::uint64_t value) {
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

/// The length of the UTF-8 character at the start of `text`; 0 if there is no valid one.
std::size_t characterLength(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (isUtf8(text.substr(0, length))) {
      return length;
    }
  }
  return 0;
}

}  // namespace

void appendString(std::string& out, std::string_view text) {
  out.push_back('"');
  const auto needsCare = [](auto byte) { return (byte < ' ') | (byte >= 0x7F) | (byte == '"') | (byte == '\\'); };
  if (findByte(text, 0, needsCare) == text.size()) {
    // The usual case.
    out.append(text);
  } else if (isUtf8(text)) {
    appendEscaped(out, text);
  } else {
    while (!text.empty()) {
      const std::size_t length = characterLength(text);
      if (length == 0) {
        out.append("\xEF\xBF\xBD");
      } else {
        appendEscaped(out, text.substr(0, length));
      }
      text.remove_prefix(length == 0 ? 1 : length);
    }
  }
  out.push_back('"');
}

void ObjectWriter::key(std::string_view name) {
  if (!first_) {
    out_.push_back(',');
  }
  first_ = false;
  out_.push_back('"');
  out_.append(name);
  out_.push_back('"');
  out_.push_back(':');
}

void ObjectWriter::members(std::string_view json) {
  if (!first_) {
    out_.push_back(',');
  }
  first_ = false;
  out_.append(json);
}

void ObjectWriter::text(std::string_view name, std::string_view value) {
  key(name);
  appendString(out_, value);
}

void ObjectWriter::time(std::string_view name, WallTime value) {
  key(name);
  out_.push_back('"');
  appendTimestamp(out_, value);
  out_.push_back('"');
}

void ObjectWriter::textIfAny(std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text(name, value);
  }
}

void ObjectWriter::raw(std::string_view name, std::string_view json) {
  key(name);
  out_.append(json);
}

void ObjectWriter::number(std::string_view name, std::uint64_t value) {
  key(name);
  appendNumber(out_, value);
}

void ObjectWriter::counter(std::string_view name, std::uint64_t value) {
  key(name);
  out_.push_back('"');
  appendNumber(out_, value);
  out_.push_back('"');
}

}  // namespace ackbox::json
