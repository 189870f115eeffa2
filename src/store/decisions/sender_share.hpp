#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ackbox::store {

/// The amount of data that a store keeps for one sender, or the amount that a row adds.
struct SenderShare {
  std::int64_t sessions = 0;
  std::int64_t origins = 0;
  std::int64_t marks = 0;
  std::int64_t bytes = 0;
  std::int64_t inbox = 0;
  std::int64_t inboxBytes = 0;

  SenderShare& operator+=(const SenderShare& other) noexcept;
  [[nodiscard]] SenderShare operator-() const noexcept;
  bool operator==(const SenderShare&) const = default;
};

/// What a row takes apart from its texts.
inline constexpr std::int64_t kSessionBytes = 192;
inline constexpr std::int64_t kOriginBytes = 96;
inline constexpr std::int64_t kMarkBytes = 96;
inline constexpr std::int64_t kResultBytes = 128;

// The share of each kind of row. `bytes` is an estimate: the texts of a key, which are also in an index, count twice,
// and the rest by its usual size.
[[nodiscard]] SenderShare shareOfSession(std::string_view source, std::string_view origin, std::string_view session);
[[nodiscard]] SenderShare shareOfOrigin(std::string_view source, std::string_view origin);
[[nodiscard]] SenderShare shareOfMark(std::string_view source, std::string_view id);
/// For a kept result of a deferred frame; `texts`: the bytes of its code, detail and data.
[[nodiscard]] SenderShare shareOfResult(std::string_view source, std::string_view origin, std::string_view session,
                                        std::string_view frameId, std::size_t texts);
[[nodiscard]] SenderShare shareOfWaiting(std::size_t dataBytes);

}  // namespace ackbox::store
