// Goal: the history of the daemon has what was counted in each minute and hour, within its bounds, and the page says
// from when on. Method: totals noted at instants of the test's; an executor that the test runs.

#include "serve/api/history.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "serve/page/views.hpp"
#include "support/manual_clock.hpp"

namespace ackbox::serve::history_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ManualClock;

struct Kept {
  explicit Kept(History::Done* asked = nullptr)
      : history(std::make_shared<History>(executor.get_executor(), clock, [asked](History::Done done) {
          if (asked != nullptr) {
            *asked = std::move(done);
          }
        })) {}

  /// So many more are acknowledged, and half as many dead letters.
  void note(std::chrono::milliseconds at, std::uint64_t acked) {
    stats.acked += acked;
    stats.enqueued += acked;
    stats.failedTotal += acked / 2;
    stats.pending = acked;
    history->note(WallTime(hours(1'000) + at), stats);
  }

  boost::asio::io_context executor;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<History> history;
  Stats stats;
};

}  // namespace

TEST_CASE("A minute has what was counted between two looks, and an hour the sum of its minutes") {
  Kept kept;
  kept.stats.acked = 1'000;
  kept.note(minutes(58), 0);
  CHECK(kept.history->day().empty());
  kept.note(minutes(59), 4);
  kept.note(minutes(60), 6);
  kept.note(minutes(61), 8);
  const std::vector<HistorySpan> day = kept.history->day();
  REQUIRE(day.size() == 3);
  CHECK(day[0].from == WallTime(hours(1'000) + minutes(58)));
  CHECK(day[0].acked == 4);
  CHECK(day[1].acked == 6);
  CHECK(day[1].failed == 3);
  CHECK(day[2].from == WallTime(hours(1'001)));
  CHECK(day[2].pending == 8);
  const std::vector<HistorySpan> week = kept.history->week();
  REQUIRE(week.size() == 2);
  CHECK(week[0].from == WallTime(hours(1'000)));
  CHECK(week[0].acked == 10);
  CHECK(week[0].pending == 6);
  CHECK(week[1].enqueued == 8);
}

TEST_CASE("Two looks in one minute are one span, and totals that shrink count nothing") {
  Kept kept;
  kept.note(seconds(0), 0);
  kept.note(seconds(20), 4);
  kept.note(seconds(40), 6);
  REQUIRE(kept.history->day().size() == 1);
  CHECK(kept.history->day()[0].acked == 10);
  kept.stats.acked = 1;
  kept.note(seconds(50), 0);
  CHECK(kept.history->day()[0].acked == 10);
}

TEST_CASE("No more than a day of minutes and a week of hours is kept") {
  Kept kept;
  for (int minute = 0; minute <= 8 * 24 * 60; ++minute) {
    kept.note(minutes(minute), 1);
  }
  CHECK(kept.history->day().size() == 24 * 60);
  CHECK(kept.history->day().front().from == WallTime(hours(1'000 + 7 * 24)));
  CHECK(kept.history->week().size() == 7 * 24);
  CHECK(kept.history->week().back().acked == 60);
}

TEST_CASE("The totals are read once a minute, until it is stopped") {
  History::Done asked;
  Kept kept(&asked);
  kept.history->start();
  kept.executor.poll();
  REQUIRE(asked);
  asked(kept.stats);
  asked = nullptr;
  kept.clock->advance(seconds(59));
  kept.executor.restart();
  kept.executor.poll();
  CHECK_FALSE(asked);
  kept.clock->advance(seconds(1));
  kept.executor.restart();
  kept.executor.poll();
  REQUIRE(asked);
  kept.stats.acked = 5;
  asked(kept.stats);
  REQUIRE(kept.history->day().size() == 1);
  CHECK(kept.history->day()[0].acked == 5);
  asked = nullptr;
  kept.history->stop();
  kept.executor.restart();
  kept.executor.poll();
  kept.clock->advance(minutes(2));
  kept.executor.restart();
  kept.executor.poll();
  CHECK_FALSE(asked);
}

TEST_CASE("The view of the history has a bar for what happened, and says where it is kept") {
  Kept kept;
  page::View view;
  view.now = WallTime(hours(1'000) + minutes(30));
  CHECK(page::historyView(view, {}, {}).str().find("Nothing is known yet.") != std::string::npos);
  kept.note(minutes(0), 0);
  kept.note(minutes(1), 40);
  const std::string html = page::historyView(view, kept.history->day(), kept.history->week()).str();
  CHECK(html.find("The last day: 40 messages acknowledged, 20 became dead letters") != std::string::npos);
  CHECK(html.find("<path class=\"bars\" d=\"M561 88v-84\"/>") != std::string::npos);
  CHECK(html.find("<path class=\"bars bad\" d=\"M561 88v-42\"/>") != std::string::npos);
  CHECK(html.find("the highest bar is 40 in 15 minutes") != std::string::npos);
  CHECK(html.find("lost when it ends") != std::string::npos);
}

}  // namespace ackbox::serve::history_test
