// Goal: an answer states its time in HTTP's one form, and only that form is read. Method: the examples of RFC 9110, the
// edges of the calendar, and texts that are nearly right.

#include "protocol/http_date.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>

namespace ackbox::protocol::http_date_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("an instant is written and read as RFC 9110 writes it") {
  const WallTime example{seconds(784'111'777)};
  CHECK(formatHttpDate(example) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT") == example);
  CHECK(formatHttpDate(WallTime{}) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(formatHttpDate(WallTime{milliseconds(-1)}) == "Wed, 31 Dec 1969 23:59:59 GMT");
  CHECK(formatHttpDate(WallTime{milliseconds(951'782'400'999)}) == "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST_CASE("each day of four years comes back as it was") {
  for (std::int64_t day = 0; day < 1'461; ++day) {
    const WallTime time{std::chrono::hours(24 * day) + seconds(86'399)};
    REQUIRE(parseHttpDate(formatHttpDate(time)) == time);
  }
}

TEST_CASE("instants that the form cannot say become the nearest that it can") {
  CHECK(formatHttpDate(WallTime{milliseconds(std::numeric_limits<std::int64_t>::max() / 2)}) ==
        "Fri, 31 Dec 9999 23:59:59 GMT");
  CHECK(formatHttpDate(WallTime{milliseconds(std::numeric_limits<std::int64_t>::min() / 2)}) ==
        "Sat, 01 Jan 0000 00:00:00 GMT");
}

TEST_CASE("anything else is no date") {
  for (const char* text :
       {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994", "Sun, 06 Nop 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 0x Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(parseHttpDate(text));
  }
  CHECK(parseHttpDate("Sat, 31 Dec 2016 23:59:60 GMT") == WallTime(seconds(1'483'228'800)));
}

TEST_CASE("A Retry-After is read in seconds and as a date, up to the most that is believed") {
  const WallTime now{seconds(784'111'777)};
  const seconds most{3'600};
  CHECK(parseRetryAfter("7", now, most) == seconds(7));
  CHECK(parseRetryAfter(" \t7 ", std::nullopt, most) == seconds(7));
  CHECK(parseRetryAfter("0", now, most) == seconds(0));
  CHECK(parseRetryAfter("99999999999999999999999", now, most) == most);
  CHECK(parseRetryAfter(" Sun, 06 Nov 1994 08:50:37 GMT ", now, most) == seconds(60));
  CHECK(parseRetryAfter("Sun, 06 Nov 1994 08:50:37 GMT", now + milliseconds(999), most) == milliseconds(59'001));
  CHECK(parseRetryAfter("Fri, 31 Dec 9999 23:59:59 GMT", now, most) == most);
  CHECK(parseRetryAfter("Sun, 06 Nov 1994 09:49:38 GMT", now, most) == most);
  // The date is in the past, or the current time is not known.
  CHECK_FALSE(parseRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now, most));
  CHECK_FALSE(parseRetryAfter("Sun, 06 Nov 1994 08:49:36 GMT", now, most));
  CHECK_FALSE(parseRetryAfter("Sun, 06 Nov 1994 08:50:37 GMT", std::nullopt, most));
  for (const char* text : {"", " ", "-1", "7.5", "7 s", "soon", "Sunday, 06-Nov-94 08:50:37 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(parseRetryAfter(text, now, most));
  }
}

}  // namespace
}  // namespace ackbox::protocol::http_date_test
