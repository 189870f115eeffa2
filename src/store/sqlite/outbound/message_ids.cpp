#include "store/sqlite/outbound/message_ids.hpp"

#include "sqlite/statement.hpp"
#include "store/decisions/uuid.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// A rest has, from its lowest bit: the random bits, the counter, and the milliseconds by which the id is ahead of its
// row. These are mostly 0: the generator runs ahead of a clock that stands still or goes back, or when a
// millisecond's counter overflows.
constexpr unsigned kRandomBits = UuidGenerator::kRandomBits;
constexpr unsigned kAheadShift = kRandomBits + UuidGenerator::kCounterBits;
constexpr std::uint64_t kRandomMask = (std::uint64_t{1} << kRandomBits) - 1;
constexpr std::uint64_t kCounterMask = (std::uint64_t{1} << UuidGenerator::kCounterBits) - 1;
constexpr std::int64_t kMillisecondsMax = (std::int64_t{1} << 48U) - 1;

static_assert(kRandomBits == 22 && kAheadShift == 34 && UuidGenerator::kKeyDigits == 10, "as the SQL has it");

Uuid uuidOf(delivery::MessageKey key, WallTime enqueuedAt, std::int64_t rest) noexcept {
  const auto bits = static_cast<std::uint64_t>(rest);
  // Unsigned, because a damaged file may have any value.
  const std::uint64_t milliseconds =
      static_cast<std::uint64_t>(millis(enqueuedAt)) + static_cast<std::uint64_t>(rest >> kAheadShift);
  return UuidGenerator::compose(milliseconds, bits >> kRandomBits & kCounterMask, bits & kRandomMask, key);
}

}  // namespace

MessageId messageIdFor(const Frame& frame, UuidGenerator& uuids, Random& random, WallTime now,
                       delivery::MessageKey key) {
  if (!frame.id.empty()) {
    return {frame.id};
  }
  const Uuid uuid = uuids.next(now, random, key);
  const std::uint64_t ahead = (uuid.high >> 16U) - static_cast<std::uint64_t>(millis(now));
  const auto rest = static_cast<std::int64_t>(ahead << kAheadShift | (uuid.high & kCounterMask) << kRandomBits |
                                              (uuid.low >> UuidGenerator::kKeyBits & kRandomMask));
  // If the clock was set back by days, the lead may not fit; and the instant may be beyond the range of an id.
  const bool saysAll =
      key <= UuidGenerator::kKeyMax && millis(now) <= kMillisecondsMax && uuidOf(key, now, rest) == uuid;
  return {toString(uuid), saysAll ? std::optional(rest) : std::nullopt};
}

std::string messageIdOf(delivery::MessageKey key, WallTime enqueuedAt, std::int64_t rest) {
  return toString(uuidOf(key, enqueuedAt, rest));
}

std::string keyOfMessage() {
  return std::string("(SELECT o.id FROM #outbox AS o WHERE o.id=CAST(substr(?1,-10) AS INTEGER) AND ")
      .append(kMessageId)
      .append("=?1 UNION ALL SELECT id FROM #outbox INDEXED BY #outbox_named WHERE message_id=?1)");
}

}  // namespace ackbox::store::sqlite
