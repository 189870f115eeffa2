#include "serve/page/html.hpp"

#include "ackbox/visible.hpp"

namespace ackbox::serve::page {
namespace {

// Characters that `visible` escapes but that are shown unchanged.
bool isLayout(char letter) {
  return letter == '\n' || letter == '\t';
}

void appendEscaped(std::string& html, std::string_view text) {
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += letter;
    }
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && !isLayout(text[length])) {
      ++length;
    }
    appendEscaped(html, visible(text.substr(0, length)));
    if (length < text.size()) {
      html += text[length++];
    }
    text.remove_prefix(length);
  }
  return html;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

Html& Html::number(std::uint64_t number) {
  html_ += grouped(number);
  return *this;
}

}  // namespace ackbox::serve::page
