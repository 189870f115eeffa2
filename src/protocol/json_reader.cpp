#include "protocol/json_reader.hpp"

#include <algorithm>

#include "protocol/limits.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::string_view kSpace = " \n\r\t";

std::size_t skipSpace(std::string_view text, std::size_t position) noexcept {
  return std::min(text.find_first_not_of(kSpace, position), text.size());
}

/// The position behind the string that begins at `position`. Quotes are looked for by the word, not by the byte: most
/// of a frame lies within strings.
std::size_t skipString(std::string_view text, std::size_t position) noexcept {
  const std::size_t begin = position + 1;
  for (std::size_t quote = text.find('"', begin); quote != std::string_view::npos; quote = text.find('"', quote + 1)) {
    std::size_t escapes = 0;
    while (quote - escapes > begin && text[quote - escapes - 1] == '\\') {
      ++escapes;
    }
    // An even number of them are escaped backslashes.
    if (escapes % 2 == 0) {
      return quote + 1;
    }
  }
  return text.size();
}

/// The position behind the value that begins at `position`.
std::size_t skipValue(std::string_view text, std::size_t position) noexcept {
  std::size_t depth = 0;
  while (position < text.size()) {
    switch (text[position]) {
      case '"':
        position = skipString(text, position);
        break;
      case '{':
      case '[':
        ++depth;
        ++position;
        continue;
      case '}':
      case ']':
        --depth;
        ++position;
        break;
      case ',':
      case ':':
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        ++position;
        continue;
      default:
        position = std::min(text.find_first_of(",:]} \n\r\t", position), text.size());
        break;
    }
    if (depth == 0) {
      break;
    }
  }
  return position;
}

/// One bit of 64, always the same for the same key.
std::uint64_t bitOf(std::string_view key) noexcept {
  const std::size_t middle = key.empty() ? 0 : static_cast<unsigned char>(key[key.size() / 2]);
  const std::size_t last = key.empty() ? 0 : static_cast<unsigned char>(key.back());
  return std::uint64_t{1} << ((key.size() * 5 + middle * 3 + last) % 64);
}

std::uint32_t hexQuad(std::string_view digits) noexcept {
  std::uint32_t value = 0;
  for (const char digit : digits) {
    const auto lower = static_cast<std::uint32_t>(static_cast<unsigned char>(digit) | 0x20U);
    value = value * 16 + (lower >= 'a' ? lower - 'a' + 10 : lower - '0');
  }
  return value;
}

void appendUtf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

/// Appends what `\u` and the digits at `position` stand for, a pair taken together; false for half a pair.
bool appendUnicodeEscape(std::string& out, std::string_view text, std::size_t& position) {
  std::uint32_t point = hexQuad(text.substr(position, 4));
  position += 4;
  if (point >= 0xDC00 && point < 0xE000) {
    return false;
  }
  if (point >= 0xD800 && point < 0xDC00) {
    if (text.substr(position, 2) != "\\u") {
      return false;
    }
    const std::uint32_t low = hexQuad(text.substr(position + 2, 4));
    position += 6;
    if (low < 0xDC00 || low >= 0xE000) {
      return false;
    }
    point = 0x10000 + ((point - 0xD800) << 10U) + (low - 0xDC00);
  }
  appendUtf8(out, point);
  return true;
}

char plainEscape(char letter) noexcept {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

}  // namespace

std::string_view trimJson(std::string_view text) noexcept {
  text.remove_prefix(skipSpace(text, 0));
  text.remove_suffix(text.size() - (text.find_last_not_of(kSpace) + 1));
  return text;
}

JsonKind kindOf(std::string_view value) noexcept {
  switch (value.empty() ? '\0' : value.front()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

std::optional<std::string> decodeString(std::string_view value) {
  if (kindOf(value) != JsonKind::string) {
    return std::nullopt;
  }
  const std::string_view text = value.substr(1, value.size() - 2);
  if (text.find('\\') == std::string_view::npos) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t run = std::min(text.find('\\', position), text.size());
    out.append(text.substr(position, run - position));
    position = run;
    if (position == text.size()) {
      break;
    }
    const char letter = text[position + 1];
    position += 2;
    if (letter != 'u') {
      out.push_back(plainEscape(letter));
    } else if (!appendUnicodeEscape(out, text, position)) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string_view> ElementReader::next() noexcept {
  position_ = skipSpace(text_, position_);
  if (position_ < text_.size() && text_[position_] == ',') {
    position_ = skipSpace(text_, position_ + 1);
  }
  if (position_ >= text_.size() || text_[position_] == ']') {
    return std::nullopt;
  }
  const std::size_t begin = position_;
  position_ = skipValue(text_, begin);
  return text_.substr(begin, position_ - begin);
}

std::optional<Members> Members::read(std::string_view object) {
  Members read;
  // As many as an event of ours has, so that they are not moved about.
  read.members_.reserve(16);
  // One bit for each key that was read, out of 64: most keys are seen to be new by it.
  std::uint64_t seen = 0;
  std::size_t position = skipSpace(object, 1);
  while (position < object.size() && object[position] == '"') {
    const std::size_t keyEnd = skipString(object, position);
    std::optional<std::string> key = decodeString(object.substr(position, keyEnd - position));
    // Between the key and its value stands the colon.
    const std::size_t begin = skipSpace(object, skipSpace(object, keyEnd) + 1);
    const std::size_t end = skipValue(object, begin);
    if (!key || read.members_.size() == kMembersMax) {
      return std::nullopt;
    }
    const std::uint64_t bit = bitOf(*key);
    const auto sameKey = [&key](const Member& member) { return member.key == *key; };
    if ((seen & bit) != 0 && std::ranges::any_of(read.members_, sameKey)) {
      return std::nullopt;
    }
    seen |= bit;
    read.members_.push_back({std::move(*key), object.substr(begin, end - begin)});
    // Between two members stands a comma.
    position = skipSpace(object, skipSpace(object, end) + 1);
  }
  return read;
}

std::optional<std::string_view> Members::find(std::string_view key) const noexcept {
  for (const Member& member : members_) {
    if (member.key == key && kindOf(member.value) != JsonKind::null) {
      return member.value;
    }
  }
  return std::nullopt;
}

}  // namespace ackbox::protocol
