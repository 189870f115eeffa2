#pragma once

// Walks JSON text in place, so that any value can be had as the very bytes that it was written in. All of it requires
// text that `findFault` found no fault in.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/fault.hpp"

namespace ackbox::json {

enum class Kind : std::uint8_t { object, array, string, number, boolean, null };

/// Members of one object that are read. Bounds the search for keys that occur twice.
inline constexpr std::size_t kMembersMax = 128;

/// `text` without the white space around it.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// The kind of a value, from its first byte. `value` is trimmed.
[[nodiscard]] Kind kindOf(std::string_view value) noexcept;

/// The characters that a JSON string stands for; nothing for another kind, or when it escapes half a surrogate pair,
/// which no UTF-8 can hold.
[[nodiscard]] std::optional<std::string> decodeString(std::string_view value);

/// The members of an object, looked up by key.
///
/// Lifetime: the object's text outlives it, and it what it gives.
class Members {
public:
  struct Member {
    /// Decoded.
    std::string_view key;
    std::string_view value;
  };

  /// Nothing when it is no object, when a key occurs twice, when a key cannot be decoded, or when there are more than
  /// `kMembersMax`.
  [[nodiscard]] static std::optional<Members> read(std::string_view object);
  /// The same for the value in `text` that begins at `position`, which is moved behind it; in place of what was read
  /// here before, whose room it takes. False where `read` gives nothing.
  [[nodiscard]] bool readAt(std::string_view text, std::size_t& position);
  /// After `readAt` gave false: why, as a sentence.
  [[nodiscard]] std::string problem() const;

  /// In the order of the text.
  [[nodiscard]] const std::vector<Member>& all() const noexcept { return members_; }

  /// The value's bytes; nothing when it is absent or null, which CloudEvents takes for absent.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

  /// The characters that a value of this object stands for, see `decodeString`: those of the object's text where
  /// nothing is escaped, as nearly everywhere.
  [[nodiscard]] std::optional<std::string_view> decode(std::string_view value);

  /// The same for the value of `key`; nothing when it is absent or null.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key);

private:
  bool fill(std::string_view text, std::size_t& position);
  bool add(std::string_view key, std::string_view value);
  std::optional<std::string_view> readString(std::string_view text, std::size_t& position);
  std::optional<std::string_view> keepDecoded(std::string_view string);

  std::vector<Member> members_;
  // The key that occurs twice, if that is the problem.
  std::string_view twice_;
  // One bit for each key, see `bitOf`.
  std::uint64_t bits_ = 0;
  // What is not in the object's text as it is: nearly always nothing.
  std::vector<std::unique_ptr<const std::string>> decoded_;
};

/// The elements of an array, one by one.
class ElementReader {
public:
  explicit ElementReader(std::string_view array) noexcept : text_(array), position_(skipSpace(array, 1)) {}

  [[nodiscard]] bool atEnd() const noexcept { return position_ >= text_.size() || text_[position_] == ']'; }

  /// Bytes from the next element on.
  [[nodiscard]] std::size_t left() const noexcept { return text_.size() - position_; }

  /// The next element's kind. Not at the end.
  [[nodiscard]] Kind kind() const { return kindOf(text_.substr(position_)); }

  /// The next element's bytes, trimmed; nothing at the end.
  std::optional<std::string_view> next();

  /// The next element's members, see `Members::readAt`; false at the end.
  [[nodiscard]] bool nextMembers(Members& into);

private:
  std::string_view text_;
  std::size_t position_;
};

}  // namespace ackbox::json
