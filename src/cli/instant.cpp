#include "cli/instant.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace ackbox::cli {
namespace {

constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
constexpr std::string_view kFraction = ".ddd";

/// Whether `text` is of `form`, in which a `d` stands for a digit.
bool fits(std::string_view text, std::string_view form) {
  bool same = text.size() == form.size();
  for (std::size_t index = 0; same && index < form.size(); ++index) {
    same = form[index] == 'd' ? text[index] >= '0' && text[index] <= '9' : text[index] == form[index];
  }
  return same;
}

int numberAt(std::string_view text, std::size_t place, std::size_t width) {
  int value = 0;
  for (const char digit : text.substr(place, width)) {
    value = value * 10 + (digit - '0');
  }
  return value;
}

}  // namespace

std::optional<WallTime> parseInstant(std::string_view text) {
  if (!text.ends_with('Z')) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  const std::string_view fraction = text.substr(std::min(text.size(), kForm.size()));
  if (!fits(text.substr(0, kForm.size()), kForm) || !(fraction.empty() || fits(fraction, kFraction))) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(numberAt(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(numberAt(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(numberAt(text, 8, 2))));
  const int hour = numberAt(text, 11, 2);
  const int minute = numberAt(text, 14, 2);
  const int second = numberAt(text, 17, 2);
  const WallTime midnight = std::chrono::sys_days(date);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59 || midnight < WallTime{}) {
    return std::nullopt;
  }
  return midnight + std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second) +
         std::chrono::milliseconds(fraction.empty() ? 0 : numberAt(fraction, 1, 3));
}

}  // namespace ackbox::cli
