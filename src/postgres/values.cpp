#include "postgres/values.hpp"

#include <cstddef>
#include <utility>

#include "base/byte_search.hpp"

namespace ackbox::postgres {
namespace {

// The length of the character that `text` begins with; 0: what it begins with is no character.
std::size_t utf8Length(std::string_view text) {
  const auto at = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned char first = at(0);
  if (first < 0x80U) {
    return 1;
  }
  const std::size_t length = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
  if (first < 0xc2U || first > 0xf4U || text.size() < length) {
    return 0;
  }
  for (std::size_t place = 1; place < length; ++place) {
    if ((at(place) & 0xc0U) != 0x80U) {
      return 0;
    }
  }
  const bool isOverlong = (first == 0xe0U && at(1) < 0xa0U) || (first == 0xf0U && at(1) < 0x90U);
  const bool isOutside = (first == 0xedU && at(1) > 0x9fU) || (first == 0xf4U && at(1) > 0x8fU);
  return isOverlong || isOutside ? 0 : length;
}

}  // namespace

std::string_view cleanText(std::string_view text, std::string& room) {
  if (findByte(text, 0, [](auto byte) { return (byte == 0) | (byte >= 0x80); }) == text.size()) {
    return text;
  }
  room.clear();
  room.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0 || text.front() == '\0') {
      room += '?';
      text.remove_prefix(1);
    } else {
      room.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return room;
}

ArrayText& ArrayText::add(std::int64_t value) {
  begin();
  text_ += std::to_string(value);
  return *this;
}

ArrayText& ArrayText::add(std::string_view text) {
  begin();
  text_ += '"';
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      text_ += '\\';
    }
    text_ += character;
  }
  text_ += '"';
  return *this;
}

ArrayText& ArrayText::add(Blob blob) {
  constexpr char kDigits[] = "0123456789abcdef";
  begin();
  text_ += "\"\\\\x";
  for (const char character : blob.bytes) {
    const auto byte = static_cast<unsigned char>(character);
    text_ += kDigits[byte >> 4U];
    text_ += kDigits[byte & 0xfU];
  }
  text_ += '"';
  return *this;
}

ArrayText& ArrayText::addNull() {
  begin();
  text_ += "NULL";
  return *this;
}

std::string arrayOf(std::span<const std::int64_t> values) {
  ArrayText array;
  for (const std::int64_t value : values) {
    array.add(value);
  }
  return array.text();
}

std::string arrayOf(std::span<const std::string> values) {
  ArrayText array;
  for (const std::string& value : values) {
    array.add(std::string_view(value));
  }
  return array.text();
}

void Parameters::bind(std::string_view text) {
  std::string room;
  keep(std::string(cleanText(text, room)));
}

void Parameters::bind(const std::string& text) {
  std::string room;
  if (const std::string_view clean = cleanText(text, room); clean.data() != text.data()) {
    keep(std::move(room));
  } else {
    push(text.c_str(), 0, 0);
  }
}

void Parameters::bind(NullIfEmpty text) {
  if (text.text.empty()) {
    push(nullptr, 0, 0);
  } else {
    bind(text.text);
  }
}

void Parameters::keep(std::string text) {
  push(kept_.emplace_back(std::move(text)).c_str(), 0, 0);
}

void Parameters::push(const char* value, int length, int format) {
  values_.push_back(value);
  lengths_.push_back(length);
  formats_.push_back(format);
}

}  // namespace ackbox::postgres
