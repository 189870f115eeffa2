#include "json/fault.hpp"

#include <cstdint>
#include <vector>

#include "base/byte_search.hpp"
#include "json/utf8.hpp"

namespace ackbox::json {
namespace {

/// One bit per open container: whether the container is an object.
class Nesting {
public:
  void push(bool isObject) {
    if (depth_ != 0 && depth_ % 64 == 0) {
      full_.push_back(word_);
    }
    word_ = (word_ << 1U) | (isObject ? 1U : 0U);
    ++depth_;
  }

  void pop() {
    --depth_;
    word_ >>= 1U;
    if (depth_ != 0 && depth_ % 64 == 0) {
      word_ = full_.back();
      full_.pop_back();
    }
  }

  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  [[nodiscard]] bool inObject() const noexcept { return (word_ & 1U) != 0; }

private:
  std::uint64_t word_ = 0;
  std::size_t depth_ = 0;
  std::vector<std::uint64_t> full_;
};

class Scanner {
public:
  Scanner(std::string_view text, std::size_t depthMax) : text_(text), depthMax_(depthMax) {}

  [[nodiscard]] FoundFault run() {
    Step step = Step::value;
    while (step != Step::done && fault_ == Fault::none) {
      passSpace();
      switch (step) {
        case Step::value:
          step = value();
          break;
        case Step::key:
          step = key();
          break;
        case Step::after:
          step = after();
          break;
        case Step::done:
          break;
      }
    }
    return {fault_, position_};
  }

private:
  enum class Step : std::uint8_t { value, key, after, done };

  [[nodiscard]] bool atEnd() const noexcept { return position_ == text_.size(); }
  [[nodiscard]] bool at(char wanted) const noexcept { return !atEnd() && text_[position_] == wanted; }
  [[nodiscard]] bool atDigit() const noexcept { return !atEnd() && text_[position_] >= '0' && text_[position_] <= '9'; }

  bool take(char wanted) noexcept {
    const bool found = at(wanted);
    position_ += found ? 1U : 0U;
    return found;
  }

  Step fail(Fault fault) noexcept {
    fault_ = fault;
    return Step::done;
  }
  [[nodiscard]] Step afterIf(bool good) noexcept { return good ? Step::after : fail(Fault::syntax); }

  void passSpace() noexcept { position_ = skipSpace(text_, position_); }

  Step value() {
    if (atEnd()) {
      return fail(Fault::syntax);
    }
    switch (text_[position_]) {
      case '{':
        return open(true);
      case '[':
        return open(false);
      case '"':
        return afterIf(string());
      case 't':
        return afterIf(literal("true"));
      case 'f':
        return afterIf(literal("false"));
      case 'n':
        return afterIf(literal("null"));
      default:
        return afterIf(number());
    }
  }

  Step open(bool isObject) {
    if (nesting_.depth() >= depthMax_) {
      return fail(Fault::depth);
    }
    ++position_;
    passSpace();
    if (take(isObject ? '}' : ']')) {
      return Step::after;
    }
    nesting_.push(isObject);
    return isObject ? Step::key : Step::value;
  }

  Step key() {
    if (!string()) {
      return fail(Fault::syntax);
    }
    passSpace();
    return take(':') ? Step::value : fail(Fault::syntax);
  }

  Step after() {
    if (nesting_.depth() == 0) {
      return atEnd() ? Step::done : fail(Fault::syntax);
    }
    if (take(',')) {
      return nesting_.inObject() ? Step::key : Step::value;
    }
    if (take(nesting_.inObject() ? '}' : ']')) {
      nesting_.pop();
      return Step::after;
    }
    return fail(Fault::syntax);
  }

  bool literal(std::string_view word) noexcept {
    const bool found = text_.substr(position_, word.size()) == word;
    position_ += found ? word.size() : 0;
    return found;
  }

  bool digits() noexcept {
    const std::size_t begin = position_;
    while (atDigit()) {
      ++position_;
    }
    return position_ != begin;
  }

  bool number() noexcept {
    take('-');
    if (!take('0') && !digits()) {
      return false;
    }
    if (take('.') && !digits()) {
      return false;
    }
    if (take('e') || take('E')) {
      if (!take('+')) {
        take('-');
      }
      return digits();
    }
    return true;
  }

  bool string() noexcept {
    if (!take('"')) {
      return false;
    }
    while (true) {
      position_ = plainEnd(text_, position_);
      if (take('"')) {
        return true;
      }
      if (!take('\\') || !escape()) {
        return false;
      }
    }
  }

  bool escape() noexcept {
    if (atEnd()) {
      return false;
    }
    const char letter = text_[position_++];
    if (letter != 'u') {
      return std::string_view("\"\\/bfnrt").find(letter) != std::string_view::npos;
    }
    for (int digit = 0; digit < 4; ++digit, ++position_) {
      if (atEnd() || std::string_view("0123456789abcdefABCDEF").find(text_[position_]) == std::string_view::npos) {
        return false;
      }
    }
    return true;
  }

  const std::string_view text_;
  const std::size_t depthMax_;
  std::size_t position_ = 0;
  Fault fault_ = Fault::none;
  Nesting nesting_;
};

}  // namespace

std::size_t plainEnd(std::string_view text, std::size_t position) noexcept {
  return findByte(text, position, [](auto byte) { return (byte < 0x20) | (byte == '"') | (byte == '\\'); });
}

std::size_t skipSpace(std::string_view text, std::size_t position) noexcept {
  const auto isSpace = [](char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; };
  while (position < text.size() && isSpace(text[position])) {
    ++position;
  }
  return position;
}

FoundFault locateFault(std::string_view text, std::size_t depthMax) {
  if (!isUtf8(text)) {
    return {Fault::encoding, 0};
  }
  return Scanner(text, depthMax).run();
}

Fault findFault(std::string_view text, std::size_t depthMax) {
  return locateFault(text, depthMax).fault;
}

bool isValid(std::string_view text, std::size_t depthMax) {
  return findFault(text, depthMax) == Fault::none;
}

}  // namespace ackbox::json
