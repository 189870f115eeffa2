#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::serve::page {

/// Markup from a literal in the source: text that was read or received cannot become markup.
class Markup {
public:
  template <std::size_t Size>
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is what it takes.
  consteval Markup(const char (&literal)[Size]) : text_(static_cast<const char*>(literal), Size - 1) {}

  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

private:
  std::string_view text_;
};

/// `text` escaped for the content of an element and for the value of a quoted attribute. Control characters, direction
/// marks and bytes that are not UTF-8 are shown as by `visible`, except for tabs and line breaks.
[[nodiscard]] std::string escaped(std::string_view text);

/// HTML under construction. Everything but literals is escaped, always by `escaped`.
class Html {
public:
  Html& raw(Markup markup) {
    html_ += markup.text();
    return *this;
  }
  Html& text(std::string_view text) {
    html_ += escaped(text);
    return *this;
  }
  /// Adds the number with separators: `40,000`.
  Html& number(std::uint64_t number);
  Html& add(const Html& html) {
    html_ += html.html_;
    return *this;
  }

  [[nodiscard]] const std::string& str() const noexcept { return html_; }

private:
  std::string html_;
};

/// `40,000`.
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace ackbox::serve::page
