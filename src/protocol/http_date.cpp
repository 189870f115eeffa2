#include "protocol/http_date.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::size_t kNameBytes = 3;
constexpr std::string_view kPattern = "Www, 00 Mmm 0000 00:00:00 GMT";

std::string_view nameAt(std::string_view names, unsigned place) {
  return names.substr(place * kNameBytes, kNameBytes);
}

void put(std::string& out, std::size_t at, std::size_t digits, unsigned number) {
  for (std::size_t place = digits; place-- > 0; number /= 10) {
    out[at + place] = static_cast<char>('0' + number % 10);
  }
}

// The caller has checked that these are all digits.
int numberAt(std::string_view text, std::size_t at, std::size_t digits) {
  int number = 0;
  for (const char digit : text.substr(at, digits)) {
    number = number * 10 + (digit - '0');
  }
  return number;
}

bool fits(std::string_view text) {
  if (text.size() != kPattern.size()) {
    return false;
  }
  for (std::size_t place = 0; place < text.size(); ++place) {
    const char wanted = kPattern[place];
    const char given = text[place];
    const bool isName = place < 3 || (place >= 8 && place < 11);
    if (!isName && (wanted == '0' ? given < '0' || given > '9' : given != wanted)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string formatHttpDate(WallTime time) {
  constexpr auto kFirst = sys_days{std::chrono::year(0) / 1 / 1};
  constexpr auto kLast = sys_days{std::chrono::year(9999) / 12 / 31};
  const auto day = std::clamp(std::chrono::floor<days>(time), kFirst, kLast);
  const auto within = std::clamp(std::chrono::floor<seconds>(time - day), seconds(0), seconds(days(1)) - seconds(1));
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(within);
  std::string text(kPattern);
  text.replace(0, kNameBytes, nameAt(kDays, std::chrono::weekday(day).c_encoding()));
  put(text, 5, 2, static_cast<unsigned>(date.day()));
  text.replace(8, kNameBytes, nameAt(kMonths, static_cast<unsigned>(date.month()) - 1));
  put(text, 12, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  put(text, 17, 2, static_cast<unsigned>(clock.hours().count()));
  put(text, 20, 2, static_cast<unsigned>(clock.minutes().count()));
  put(text, 23, 2, static_cast<unsigned>(clock.seconds().count()));
  return text;
}

std::optional<WallTime> parseHttpDate(std::string_view text) noexcept {
  if (!fits(text)) {
    return std::nullopt;
  }
  unsigned month = 0;
  while (month < 12 && nameAt(kMonths, month) != text.substr(8, kNameBytes)) {
    ++month;
  }
  const std::chrono::year_month_day date(std::chrono::year(numberAt(text, 12, 4)), std::chrono::month(month + 1),
                                         std::chrono::day(static_cast<unsigned>(numberAt(text, 5, 2))));
  const int hour = numberAt(text, 17, 2);
  const int minute = numberAt(text, 20, 2);
  // A leap second is read as the following second.
  const int second = numberAt(text, 23, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  return WallTime(sys_days(date).time_since_epoch() + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                  seconds(second));
}

std::optional<std::chrono::milliseconds> parseRetryAfter(std::string_view header, std::optional<WallTime> now,
                                                         std::chrono::seconds most) noexcept {
  const std::size_t begin = std::min(header.find_first_not_of(" \t"), header.size());
  header.remove_prefix(begin);
  header = header.substr(0, header.find_last_not_of(" \t") + 1);
  if (const auto wait = parseCapped(header, static_cast<std::uint64_t>(most.count()))) {
    return seconds(*wait);
  }
  const std::optional<WallTime> date = parseHttpDate(header);
  if (!now || !date || *date <= *now) {
    return std::nullopt;
  }
  return *date - *now < most ? *date - *now : most;
}

}  // namespace ackbox::protocol
