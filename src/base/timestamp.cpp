#include "base/timestamp.hpp"

#include <algorithm>
#include <string_view>

namespace ackbox {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::year_month_day;

constexpr WallTime kEarliest = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
constexpr WallTime kLatest =
    WallTime(std::chrono::sys_days(std::chrono::year(9999) / 12 / 31)) + days(1) - milliseconds(1);

/// Takes pieces off the front of the text; after one that does not fit, all later ones fail.
class Pieces {
public:
  explicit Pieces(std::string_view text) noexcept : text_(text) {}

  /// Exactly `width` digits, at most `maximum`.
  int number(std::size_t width, int maximum) noexcept {
    int value = 0;
    for (std::size_t index = 0; index < width; ++index) {
      value = value * 10 + digit();
    }
    good_ = good_ && value <= maximum;
    return value;
  }

  /// One of the characters in `choices`.
  char oneOf(std::string_view choices) noexcept {
    const char letter = text_.empty() ? '\0' : text_.front();
    good_ = good_ && !text_.empty() && choices.find(letter) != std::string_view::npos;
    text_.remove_prefix(text_.empty() ? 0 : 1);
    return letter;
  }

  [[nodiscard]] bool startsWith(char letter) const noexcept { return text_.starts_with(letter); }
  [[nodiscard]] bool startsWithDigit() const noexcept {
    return !text_.empty() && text_.front() >= '0' && text_.front() <= '9';
  }
  [[nodiscard]] bool finished() const noexcept { return good_ && text_.empty(); }

private:
  int digit() noexcept {
    good_ = good_ && startsWithDigit();
    const int value = good_ ? text_.front() - '0' : 0;
    text_.remove_prefix(text_.empty() ? 0 : 1);
    return value;
  }

  std::string_view text_;
  bool good_ = true;
};

milliseconds takeFraction(Pieces& pieces) noexcept {
  milliseconds fraction{0};
  if (!pieces.startsWith('.')) {
    return fraction;
  }
  pieces.oneOf(".");
  int worth = 100;
  do {
    fraction += milliseconds(pieces.number(1, 9) * worth);
    worth /= 10;
  } while (pieces.startsWithDigit());
  return fraction;
}

std::chrono::minutes takeOffset(Pieces& pieces) noexcept {
  const char sign = pieces.oneOf("Zz+-");
  if (sign != '+' && sign != '-') {
    return std::chrono::minutes(0);
  }
  const std::chrono::hours hours(pieces.number(2, 23));
  pieces.oneOf(":");
  const std::chrono::minutes offset = hours + std::chrono::minutes(pieces.number(2, 59));
  return sign == '+' ? offset : -offset;
}

/// Writes the digits of `number` over those at `position`.
void putNumber(std::string& text, std::size_t position, std::size_t width, unsigned number) noexcept {
  for (std::size_t index = width; index-- > 0; number /= 10) {
    text[position + index] = static_cast<char>('0' + number % 10);
  }
}

}  // namespace

void appendTimestamp(std::string& out, WallTime time) {
  const WallTime shown = std::clamp(time, kEarliest, kLatest);
  const auto day = floor<days>(shown);
  const year_month_day date(day);
  const std::chrono::hh_mm_ss clock(shown - day);
  const std::size_t begin = out.size();
  out.append("0000-00-00T00:00:00.000Z");
  putNumber(out, begin, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  putNumber(out, begin + 5, 2, static_cast<unsigned>(date.month()));
  putNumber(out, begin + 8, 2, static_cast<unsigned>(date.day()));
  putNumber(out, begin + 11, 2, static_cast<unsigned>(clock.hours().count()));
  putNumber(out, begin + 14, 2, static_cast<unsigned>(clock.minutes().count()));
  putNumber(out, begin + 17, 2, static_cast<unsigned>(clock.seconds().count()));
  putNumber(out, begin + 20, 3, static_cast<unsigned>(clock.subseconds().count()));
}

std::string formatTimestamp(WallTime time) {
  std::string text;
  appendTimestamp(text, time);
  return text;
}

std::optional<WallTime> parseTimestamp(std::string_view text) noexcept {
  Pieces pieces(text);
  const std::chrono::year year(pieces.number(4, 9999));
  pieces.oneOf("-");
  const std::chrono::month month(static_cast<unsigned>(pieces.number(2, 12)));
  pieces.oneOf("-");
  const std::chrono::day day(static_cast<unsigned>(pieces.number(2, 31)));
  pieces.oneOf("Tt");
  const std::chrono::hours hours(pieces.number(2, 23));
  pieces.oneOf(":");
  const std::chrono::minutes minutes(pieces.number(2, 59));
  pieces.oneOf(":");
  const std::chrono::seconds seconds(pieces.number(2, 60));
  const milliseconds fraction = takeFraction(pieces);
  const std::chrono::minutes offset = takeOffset(pieces);

  const year_month_day date(year, month, day);
  if (!pieces.finished() || !date.ok()) {
    return std::nullopt;
  }
  const WallTime minute = WallTime(std::chrono::sys_days(date)) + hours + minutes - offset;
  // Leap seconds are inserted at the end of a UTC day, whatever the offset of the timestamp.
  if (seconds.count() == 60 && minute - floor<days>(minute) != std::chrono::hours(24) - std::chrono::minutes(1)) {
    return std::nullopt;
  }
  return minute + seconds + fraction;
}

}  // namespace ackbox
