// Goal: the comparison that judges the crash runs detects every way in which they could go wrong. Method: small
// accounts written by hand, one with each fault.

#include "ledger.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace main_job {
namespace {

const std::vector<Entry> kPutIn = {{"a", "1", {}}, {"b", "1", {}}, {"a", "2", {}}, {"a", "2", {}}, {"a", "3", {}}};

}  // namespace

TEST_CASE("effects in each session's order balance, however sessions interleave") {
  const std::vector<Entry> effects = {
      {"a", "1", "i"}, {"a", "2", "ii"}, {"a", "2", "iii"}, {"b", "1", "iv"}, {"a", "3", "v"}};
  CHECK(compare(kPutIn, effects).clean());
}

TEST_CASE("a frame without an effect is lost, also when its twin had one") {
  const Comparison found = compare(kPutIn, std::vector<Entry>{{"a", "1", "i"}, {"b", "1", "ii"}, {"a", "2", "iii"}});
  CHECK(found.lost == 2);
  CHECK(found.reordered == 0);
  CHECK_FALSE(found.clean());
}

TEST_CASE("a second effect of one message is a repetition, and takes no twin's place") {
  const std::vector<Entry> effects = {
      {"a", "1", "i"}, {"b", "1", "ii"}, {"a", "2", "iii"}, {"a", "2", "iii"}, {"a", "3", "v"}};
  const Comparison found = compare(kPutIn, effects);
  CHECK(found.repeated == 1);
  CHECK(found.lost == 1);
  CHECK_FALSE(found.clean());
}

TEST_CASE("a frame that was enqueued twice shows as a repetition under another message id") {
  std::vector<Entry> effects = {{"a", "1", "i"},  {"b", "1", "ii"}, {"b", "1", "iii"},
                                {"a", "2", "iv"}, {"a", "2", "v"},  {"a", "3", "vi"}};
  CHECK(compare(kPutIn, effects).repeated == 1);
  CHECK_FALSE(compare(kPutIn, effects).clean());
}

TEST_CASE("an effect after that of a later frame of its session is out of order") {
  const std::vector<Entry> effects = {
      {"a", "2", "i"}, {"a", "1", "ii"}, {"b", "1", "iii"}, {"a", "2", "iv"}, {"a", "3", "v"}};
  const Comparison found = compare(kPutIn, effects);
  CHECK(found.reordered == 1);
  CHECK(found.lost == 0);
  CHECK_FALSE(found.clean());
}

TEST_CASE("an effect of what nobody put in is unexpected, also in a known session") {
  const Comparison found = compare(kPutIn, std::vector<Entry>{{"a", "4", "i"}, {"c", "1", "ii"}});
  CHECK(found.unexpected == 2);
  CHECK_FALSE(found.clean());
}

TEST_CASE("every tenth frame of a session is answered") {
  std::vector<Entry> putIn(25, Entry{"a", "1", {}});
  putIn.resize(34, Entry{"b", "1", {}});
  const std::vector<Entry> replies = repliesTo(putIn);
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].data == replyData(10));
  CHECK(replies[1].data == replyData(20));
  CHECK(replies[1].session == "a");
}

}  // namespace main_job
