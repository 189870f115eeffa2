#include "json/reader.hpp"

#include <algorithm>

#include "base/byte_search.hpp"
#include "json/fault.hpp"

namespace ackbox::json {
namespace {

/// The end of the string's unescaped bytes from `position` on: its quote, or an escape.
std::size_t plainRunEnd(std::string_view text, std::size_t position) noexcept {
  return findByte(text, position, [](auto byte) { return (byte == '"') | (byte == '\\'); });
}

/// The position after the string that begins at `position`.
std::size_t skipString(std::string_view text, std::size_t position) noexcept {
  std::size_t end = plainRunEnd(text, position + 1);
  while (end < text.size() && text[end] == '\\') {
    // An escaped character does not end the string.
    end = plainRunEnd(text, end + 2);
  }
  return std::min(end + 1, text.size());
}

/// The position after the object or the array that begins at `position`.
std::size_t skipContainer(std::string_view text, std::size_t position) noexcept {
  std::size_t depth = 0;
  do {
    switch (text[position]) {
      case '"':
        position = skipString(text, position);
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        break;
    }
    ++position;
  } while (depth != 0 && position < text.size());
  return position;
}

/// The position after the value that begins at `position`.
std::size_t skipValue(std::string_view text, std::size_t position) {
  switch (kindOf(text.substr(position))) {
    case Kind::string:
      return skipString(text, position);
    case Kind::object:
    case Kind::array:
      return skipContainer(text, position);
    default:
      return std::min(text.find_first_of(",]} \n\r\t", position), text.size());
  }
}

/// The position after the value or member that ends at `position`: that of the next one, or of the closing bracket.
std::size_t passComma(std::string_view text, std::size_t position) noexcept {
  position = skipSpace(text, position);
  return position < text.size() && text[position] == ',' ? skipSpace(text, position + 1) : position;
}

/// One bit of 64; equal keys have the same bit.
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

/// Appends the character of `\u` and the digits at `position`, or of a surrogate pair; false for half a pair.
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

std::string_view trim(std::string_view text) noexcept {
  text.remove_prefix(skipSpace(text, 0));
  text.remove_suffix(text.size() - (text.find_last_not_of(" \n\r\t") + 1));
  return text;
}

Kind kindOf(std::string_view value) noexcept {
  switch (value.empty() ? '\0' : value.front()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return Kind::number;
  }
}

std::optional<std::string> decodeString(std::string_view value) {
  if (kindOf(value) != Kind::string) {
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

std::optional<Members> Members::read(std::string_view object) {
  std::optional<Members> members(std::in_place);
  std::size_t position = 0;
  if (!members->readAt(object, position)) {
    members.reset();
  }
  return members;
}

bool Members::readAt(std::string_view text, std::size_t& position) {
  members_.clear();
  decoded_.clear();
  bits_ = 0;
  twice_ = {};
  const std::size_t begin = position;
  if (kindOf(text.substr(begin)) != Kind::object || !fill(text, position)) {
    position = skipValue(text, begin);
    return false;
  }
  return true;
}

bool Members::fill(std::string_view text, std::size_t& position) {
  // As many members as an event of this project has, to avoid reallocation.
  members_.reserve(16);
  position = skipSpace(text, position + 1);
  while (position < text.size() && text[position] == '"') {
    const std::optional<std::string_view> key = readString(text, position);
    // A colon stands between the key and its value.
    const std::size_t begin = skipSpace(text, skipSpace(text, position) + 1);
    const std::size_t end = skipValue(text, begin);
    if (!key || !add(*key, text.substr(begin, end - begin))) {
      return false;
    }
    position = passComma(text, end);
  }
  ++position;
  return true;
}

bool Members::add(std::string_view key, std::string_view value) {
  const std::uint64_t bit = bitOf(key);
  // For most keys the bit shows that they are new.
  const bool isKnown =
      (bits_ & bit) != 0 && std::ranges::any_of(members_, [key](const Member& member) { return member.key == key; });
  if (isKnown) {
    twice_ = key;
    return false;
  }
  if (members_.size() == kMembersMax) {
    return false;
  }
  bits_ |= bit;
  members_.push_back({key, value});
  return true;
}

std::string Members::problem() const {
  constexpr std::size_t kShown = 256;
  if (!twice_.empty()) {
    return "the key \"" + std::string(twice_.substr(0, kShown)) + "\" occurs twice";
  }
  return members_.size() == kMembersMax ? "the object has more than " + std::to_string(kMembersMax) + " keys"
                                        : "a key of the object holds half a surrogate pair";
}

std::optional<std::string_view> Members::find(std::string_view key) const noexcept {
  if ((bits_ & bitOf(key)) == 0) {
    return std::nullopt;
  }
  for (const Member& member : members_) {
    if (member.key == key && kindOf(member.value) != Kind::null) {
      return member.value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> Members::text(std::string_view key) {
  const std::optional<std::string_view> value = find(key);
  return value ? decode(*value) : std::nullopt;
}

std::optional<std::string_view> Members::decode(std::string_view value) {
  std::size_t position = 0;
  return kindOf(value) == Kind::string ? readString(value, position) : std::nullopt;
}

std::optional<std::string_view> Members::readString(std::string_view text, std::size_t& position) {
  const std::size_t begin = position;
  const std::size_t end = plainRunEnd(text, begin + 1);
  if (end < text.size() && text[end] == '"') {
    position = end + 1;
    return text.substr(begin + 1, end - begin - 1);
  }
  position = skipString(text, begin);
  return keepDecoded(text.substr(begin, position - begin));
}

std::optional<std::string_view> Members::keepDecoded(std::string_view string) {
  std::optional<std::string> decoded = decodeString(string);
  if (!decoded) {
    return std::nullopt;
  }
  return *decoded_.emplace_back(std::make_unique<const std::string>(*std::move(decoded)));
}

std::optional<std::string_view> ElementReader::next() {
  if (atEnd()) {
    return std::nullopt;
  }
  const std::size_t begin = position_;
  const std::size_t end = skipValue(text_, begin);
  position_ = passComma(text_, end);
  return text_.substr(begin, end - begin);
}

bool ElementReader::nextMembers(Members& into) {
  std::size_t position = position_;
  const bool isRead = into.readAt(text_, position);
  position_ = passComma(text_, position);
  return isRead;
}

}  // namespace ackbox::json
