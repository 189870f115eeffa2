// Goal: errors of one cause have one form, and those of different causes do not.
// Method: errors side by side.

#include "base/error_fingerprint.hpp"

#include <doctest/doctest.h>

namespace error_fingerprint_test {

using ackbox::errorFingerprint;
using ackbox::ErrorForm;

TEST_CASE("Words with digits do not distinguish errors, and all else does; the status of HTTP stays") {
  CHECK(errorFingerprint("") == "");
  CHECK(errorFingerprint("no digit at all.") == "no digit at all.");
  CHECK(errorFingerprint("order 7 of a1b2-c3_d4 is void") == "order # of # is void");
  CHECK(errorFingerprint("HTTP 404: no route 404") == "HTTP 404: no route #");
  CHECK(errorFingerprint("HTTP 4040") == "HTTP #");
  CHECK(errorFingerprint("connecting to 127.0.0.1:80") == "connecting to #.#.#.#:#");
  CHECK(errorFingerprint("caf\xc3\xa9 9\xff") == "caf\xc3\xa9 #\xff");
}

TEST_CASE("Errors are compared with an example by their form; without an example all fit") {
  const ErrorForm form("order 7 is void");
  CHECK(form.fits("order 12 is void"));
  CHECK_FALSE(form.fits("order 12 is closed"));
  CHECK_FALSE(form.fits(""));
  CHECK(ErrorForm(std::string()).fits(""));
  CHECK_FALSE(ErrorForm(std::string()).fits("x"));
  CHECK(ErrorForm(std::nullopt).fits("anything"));
}

}  // namespace error_fingerprint_test
