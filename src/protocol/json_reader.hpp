#pragma once

// Walks JSON text in place, so that any value can be had as the very bytes that it was written in. All of it requires
// text that `findFault` found no fault in.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::protocol {

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null };

/// `text` without the white space around it.
[[nodiscard]] std::string_view trimJson(std::string_view text) noexcept;

/// The kind of a value, from its first byte. `value` is trimmed.
[[nodiscard]] JsonKind kindOf(std::string_view value) noexcept;

/// The characters that a JSON string stands for; nothing for another kind, or when it escapes half a surrogate pair,
/// which no UTF-8 can hold.
[[nodiscard]] std::optional<std::string> decodeString(std::string_view value);

/// The elements of an array, one by one.
class ElementReader {
public:
  explicit ElementReader(std::string_view array) noexcept : text_(array) {}

  /// The next element's bytes, trimmed; nothing at the end.
  [[nodiscard]] std::optional<std::string_view> next() noexcept;

private:
  std::string_view text_;
  std::size_t position_ = 1;
};

/// The members of an object, looked up by key.
class Members {
public:
  /// Nothing when a key occurs twice, when a key cannot be decoded, or when there are more than `kMembersMax`.
  [[nodiscard]] static std::optional<Members> read(std::string_view object);

  /// The value's bytes; nothing when it is absent or null, which CloudEvents takes for absent.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

private:
  struct Member {
    std::string key;
    std::string_view value;
  };
  std::vector<Member> members_;
};

}  // namespace ackbox::protocol
