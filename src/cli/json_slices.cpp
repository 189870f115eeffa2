#include "cli/json_slices.hpp"

#include <algorithm>

namespace ackbox::cli {
namespace {

/// Walks over the text.
class Cursor {
public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void skipBlanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  /// Passes `character` and the blanks around it, if it is there.
  bool pass(char character) {
    skipBlanks();
    if (at_ >= text_.size() || text_[at_] != character) {
      return false;
    }
    ++at_;
    skipBlanks();
    return true;
  }
  [[nodiscard]] bool atEnd() const { return at_ == text_.size(); }

  /// The string at hand, with its quotes; empty when there is none or it has no end.
  std::string_view string() {
    const std::size_t start = at_;
    if (at_ >= text_.size() || text_[at_] != '"') {
      return {};
    }
    // Most of a frame lies within strings: they are searched, not walked over.
    std::size_t end = text_.find('"', ++at_);
    while (end != std::string_view::npos) {
      const std::size_t escape = text_.substr(at_, end - at_).find('\\');
      if (escape == std::string_view::npos) {
        at_ = end + 1;
        return text_.substr(start, at_ - start);
      }
      at_ += escape + 2;
      if (at_ > end) {
        end = text_.find('"', at_);
      }
    }
    at_ = text_.size();
    return {};
  }

  /// The value at hand; empty when there is none or it has no end.
  std::string_view value() {
    const std::size_t start = at_;
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char character = text_[at_];
      if (character == '"') {
        if (string().empty()) {
          return {};
        }
        continue;
      }
      if (character == '{' || character == '[') {
        ++depth;
      } else if (character == '}' || character == ']') {
        if (depth == 0) {
          break;
        }
        --depth;
      } else if (character == ',' && depth == 0) {
        break;
      }
      ++at_;
    }
    std::string_view slice = text_.substr(start, at_ - start);
    slice.remove_suffix(slice.size() - (slice.find_last_not_of(" \t\r\n") + 1));
    return depth == 0 ? slice : std::string_view();
  }

private:
  const std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::size_t kKeyShown = 256;

/// A key that occurs twice; empty: none does.
std::string_view keyTwice(const JsonSlices& slices) {
  std::vector<std::string_view> keys;
  keys.reserve(slices.members.size());
  for (const auto& member : slices.members) {
    keys.push_back(member.first);
  }
  std::ranges::sort(keys);
  const auto found = std::ranges::adjacent_find(keys);
  return found == keys.end() ? std::string_view() : *found;
}

}  // namespace

std::string_view withoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  return text;
}

JsonSlices sliceObject(std::string_view text) {
  JsonSlices slices;
  Cursor cursor(text);
  if (!cursor.pass('{')) {
    slices.problem = "it is not a JSON object";
    return slices;
  }
  if (!cursor.pass('}')) {
    do {
      const std::string_view key = cursor.string();
      if (key.empty() || !cursor.pass(':')) {
        slices.problem = "it is not JSON: a key in quotes and a colon are expected";
        return slices;
      }
      const std::string_view value = cursor.value();
      if (value.empty()) {
        slices.problem = "it is not JSON: the value of " + std::string(key) + " is missing or has no end";
        return slices;
      }
      slices.members.emplace_back(key.substr(1, key.size() - 2), value);
    } while (cursor.pass(','));
    if (!cursor.pass('}')) {
      slices.problem = "it is not JSON: the object has no end";
      return slices;
    }
  }
  if (!cursor.atEnd()) {
    slices.problem = "something stands behind the object";
  } else if (const std::string_view twice = keyTwice(slices); !twice.empty()) {
    slices.problem = "the key \"" + std::string(twice.substr(0, kKeyShown)) + "\" occurs twice";
  }
  return slices;
}

JsonElements sliceArray(std::string_view text, std::size_t most) {
  JsonElements elements;
  Cursor cursor(text);
  if (!cursor.pass('[')) {
    elements.problem = "it is not a JSON array";
    return elements;
  }
  if (!cursor.pass(']')) {
    do {
      const std::string_view value = cursor.value();
      if (value.empty()) {
        elements.problem = "it is not JSON: a value of the array is missing or has no end";
        return elements;
      }
      if (elements.values.size() == most) {
        elements.problem = "the array has more than " + std::to_string(most) + " values";
        return elements;
      }
      elements.values.push_back(value);
    } while (cursor.pass(','));
    if (!cursor.pass(']')) {
      elements.problem = "it is not JSON: the array has no end";
      return elements;
    }
  }
  if (!cursor.atEnd()) {
    elements.problem = "something stands behind the array";
  }
  return elements;
}

}  // namespace ackbox::cli
