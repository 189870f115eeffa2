// Goal: text from outside cannot steer the terminal of a person who looks at it.
// Method: bytes in, strings out.

#include "ackbox/visible.hpp"

#include <doctest/doctest.h>

namespace ackbox::visible_test {
namespace {

TEST_CASE("P11: what steers a terminal, and what is no UTF-8, is escaped; letters are not") {
  CHECK(visible("plain ñ 界 😀") == "plain ñ 界 😀");
  CHECK(visible("\x1b[2J\x07\x7f") == "\\x1b[2J\\x07\\x7f");
  CHECK(visible("\xc2\x9b") == "\\x9b");
  CHECK(visible("\xe2\x80\xae") == "\\u202e");
  // Overlong, a surrogate, cut off, beyond Unicode, a lone continuation.
  CHECK(visible("\xc0\xaf") == "\\xc0\\xaf");
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(visible("\xe2\x80") == "\\xe2\\x80");
  CHECK(visible("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(visible("\x80") == "\\x80");
}

}  // namespace
}  // namespace ackbox::visible_test
