#pragma once

// Walks JSON text in place, so that any value is available as the bytes in which it was written. All functions require
// text in which `findFault` found no fault.

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

/// The most members of one object that are read. It bounds the search for keys that occur twice.
inline constexpr std::size_t kMembersMax = 128;

/// `text` without the white space around it.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// The kind of a value, from its first byte. `value` is trimmed.
[[nodiscard]] Kind kindOf(std::string_view value) noexcept;

/// The characters of a JSON string; nothing for a value of another kind, or if it escapes half a surrogate pair, which
/// UTF-8 cannot hold.
[[nodiscard]] std::optional<std::string> decodeString(std::string_view value);

/// The members of an object, looked up by key.
///
/// Lifetime: the object's text must outlive it, and it must outlive the views that it returns.
class Members {
public:
  struct Member {
    /// Decoded.
    std::string_view key;
    std::string_view value;
  };

  /// Nothing if `object` is not an object, if a key occurs twice or cannot be decoded, or if there are more than
  /// `kMembersMax` members.
  [[nodiscard]] static std::optional<Members> read(std::string_view object);
  /// Like `read` for the value in `text` at `position`, which is moved past the value. Replaces the members read
  /// before, and reuses their memory. False where `read` gives nothing.
  [[nodiscard]] bool readAt(std::string_view text, std::size_t& position);
  /// The reason, as a sentence, after `readAt` returned false.
  [[nodiscard]] std::string problem() const;

  /// In the order of the text.
  [[nodiscard]] const std::vector<Member>& all() const noexcept { return members_; }

  /// The value's bytes; nothing if it is absent or null, which CloudEvents treats as absent.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

  /// The characters of a value of this object, see `decodeString`: a view of the object's text if nothing is escaped,
  /// as is usual.
  [[nodiscard]] std::optional<std::string_view> decode(std::string_view value);

  /// Does the same for the value of `key`; nothing if it is absent or null.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key);

private:
  bool fill(std::string_view text, std::size_t& position);
  bool add(std::string_view key, std::string_view value);
  std::optional<std::string_view> readString(std::string_view text, std::size_t& position);
  std::optional<std::string_view> keepDecoded(std::string_view string);

  std::vector<Member> members_;
  // The key that occurs twice, if that was the problem.
  std::string_view twice_;
  // One bit for each key, see `bitOf`.
  std::uint64_t bits_ = 0;
  // The decoded strings that differ from the object's text; nearly always empty.
  std::vector<std::unique_ptr<const std::string>> decoded_;
};

/// Reads the elements of an array one by one.
class ElementReader {
public:
  explicit ElementReader(std::string_view array) noexcept : text_(array), position_(skipSpace(array, 1)) {}

  [[nodiscard]] bool atEnd() const noexcept { return position_ >= text_.size() || text_[position_] == ']'; }

  /// The number of bytes from the next element on.
  [[nodiscard]] std::size_t left() const noexcept { return text_.size() - position_; }

  /// The next element's kind. Must not be called at the end.
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
