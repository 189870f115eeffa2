#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::serve::page {

/// Markup that stands in the source: nothing that was read or received can become one.
class Markup {
public:
  template <std::size_t Size>
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is what it takes.
  consteval Markup(const char (&literal)[Size]) : text_(static_cast<const char*>(literal), Size - 1) {}

  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

private:
  std::string_view text_;
};

/// `text` for the content of an element and for the value of a quoted attribute. Control characters, marks of direction
/// and bytes that are no UTF-8 are shown as `visible` shows them, but for tabs and line breaks.
[[nodiscard]] std::string escaped(std::string_view text);

/// HTML that is being written. What is not a literal is escaped, always by `escaped`.
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
  /// With separators: `40,000`.
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

/// One segment or value of a URL, with all but letters, digits and `-_.~` percent-encoded.
[[nodiscard]] std::string urlEncoded(std::string_view text);

}  // namespace ackbox::serve::page
