#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::postgres {

/// Milliseconds since 1970, the form in which columns store instants.
[[nodiscard]] inline std::int64_t millis(WallTime instant) noexcept {
  return instant.time_since_epoch().count();
}
[[nodiscard]] inline WallTime instantOf(std::int64_t milliseconds) noexcept {
  return WallTime(std::chrono::milliseconds(milliseconds));
}

/// Bytes of a `bytea`.
struct Blob {
  std::string_view bytes;
};

/// Text that stands for NULL when it is empty.
struct NullIfEmpty {
  std::string_view text;
};

/// Text from anywhere, such as an error, as PostgreSQL takes it: without zeros, in UTF-8. A question mark stands for
/// each other byte. All that is sent as text goes through this. `room` holds the text if it had to be changed, and must
/// outlive the result.
[[nodiscard]] std::string_view cleanText(std::string_view text, std::string& room);

/// The text form of an array, one element after the other.
class ArrayText {
public:
  ArrayText& add(std::int64_t value);
  ArrayText& add(std::string_view text);
  ArrayText& add(Blob blob);
  ArrayText& add(WallTime instant) { return add(millis(instant)); }
  ArrayText& addNull();
  template <typename Value>
  ArrayText& add(const std::optional<Value>& value) {
    return value ? add(*value) : addNull();
  }
  ArrayText& add(NullIfEmpty text) { return text.text.empty() ? addNull() : add(text.text); }
  [[nodiscard]] std::string text() const { return text_ + "}"; }

private:
  void begin() { text_ += text_.size() == 1 ? "" : ","; }

  std::string text_ = "{";
};

[[nodiscard]] std::string arrayOf(std::span<const std::int64_t> values);
[[nodiscard]] std::string arrayOf(std::span<const std::string> values);

/// The values of a statement's parameters $1, $2, …; texts must outlive it.
class Parameters {
public:
  template <typename... Values>
  explicit Parameters(const Values&... values) {
    add(values...);
  }
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  template <typename... Values>
  void add(const Values&... values) {
    (bind(values), ...);
  }

  [[nodiscard]] int count() const noexcept { return static_cast<int>(values_.size()); }
  [[nodiscard]] const char* const* values() const noexcept { return values_.data(); }
  [[nodiscard]] const int* lengths() const noexcept { return lengths_.data(); }
  [[nodiscard]] const int* formats() const noexcept { return formats_.data(); }

private:
  template <typename Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void bind(Integer value) {
    if constexpr (std::is_same_v<Integer, bool>) {
      keep(value ? "t" : "f");
    } else {
      keep(std::to_string(static_cast<std::int64_t>(value)));
    }
  }
  void bind(std::string_view text);
  void bind(const std::string& text);
  void bind(const char* text) { push(text, 0, 0); }
  void bind(Blob blob) { push(blob.bytes.empty() ? "" : blob.bytes.data(), static_cast<int>(blob.bytes.size()), 1); }
  void bind(NullIfEmpty text);
  void bind(WallTime instant) { bind(millis(instant)); }
  template <typename Value>
  void bind(const std::optional<Value>& value) {
    if (value) {
      bind(*value);
    } else {
      push(nullptr, 0, 0);
    }
  }
  void keep(std::string text);
  void push(const char* value, int length, int format);

  // Stays in place when it grows.
  std::deque<std::string> kept_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace ackbox::postgres
