#include "transport/answer_head.hpp"

#include <algorithm>

namespace ackbox::transport {
namespace {

constexpr std::string_view kVersionBegin = "HTTP/1.";
// The status follows `HTTP/1.1 `.
constexpr std::size_t kStatusAt = 9;
constexpr std::size_t kStatusEnd = 12;

bool isDigit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

int statusIn(std::string_view bytes) noexcept {
  if (bytes.size() < kStatusEnd || !bytes.starts_with(kVersionBegin) || (bytes[7] != '0' && bytes[7] != '1') ||
      bytes[8] != ' ') {
    return 0;
  }
  const bool isLonger =
      bytes.size() > kStatusEnd && std::string_view(" \t\r\n").find(bytes[kStatusEnd]) == std::string_view::npos;
  const std::string_view digits = bytes.substr(kStatusAt, kStatusEnd - kStatusAt);
  if (isLonger || !std::ranges::all_of(digits, isDigit)) {
    return 0;
  }
  return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
}

/// The length of the head, including the empty line that ends it; 0 if the head is not whole.
std::size_t lengthOf(std::string_view bytes) noexcept {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', end + 1)) {
    const std::string_view next = bytes.substr(end + 1, 2);
    if (next.starts_with('\n')) {
      return end + 2;
    }
    if (next == "\r\n") {
      return end + 3;
    }
  }
  return 0;
}

bool lacksReturn(std::string_view head, std::size_t at) noexcept {
  return head[at] == '\n' && (at == 0 || head[at - 1] != '\r');
}

bool lacksBlank(std::string_view head) noexcept {
  return head[kStatusEnd] == '\r' || head[kStatusEnd] == '\n';
}

/// The mended head; empty if nothing is to be mended. A head with an invalid status line is left to the parser.
std::string mended(std::string_view head) {
  bool isRight = !lacksBlank(head);
  for (std::size_t end = head.find('\n'); isRight && end != std::string_view::npos; end = head.find('\n', end + 1)) {
    isRight = !lacksReturn(head, end);
  }
  std::string text;
  if (isRight) {
    return text;
  }
  for (std::size_t at = 0; at < head.size(); ++at) {
    text.append(at == kStatusEnd && lacksBlank(head) ? " " : "").append(lacksReturn(head, at) ? "\r" : "");
    text.push_back(head[at]);
  }
  return text;
}

}  // namespace

AnswerHead readAnswerHead(std::string_view bytes) {
  AnswerHead head;
  head.status = statusIn(bytes);
  head.bytes = lengthOf(bytes);
  if (head.status != 0 && head.bytes != 0) {
    head.mended = mended(bytes.substr(0, head.bytes));
  }
  return head;
}

}  // namespace ackbox::transport
