#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::chrono::minutes kQuarter{15};
constexpr std::size_t kQuarters = 96;
constexpr std::chrono::hours kHour{1};
constexpr std::size_t kHours = 7 * 24;
constexpr std::chrono::hours kDay{24};
constexpr std::size_t kQuartersListed = 5;
constexpr std::size_t kHoursListed = 24;
constexpr std::size_t kDaysListed = 7;
constexpr unsigned kHeight = 88;

void add(HistorySpan& sum, const HistorySpan& part) {
  sum.enqueued += part.enqueued;
  sum.acked += part.acked;
  sum.failed += part.failed;
  sum.received += part.received;
  sum.pending = part.pending;
}

/// `count` spans of this length up to now, the oldest first; those that nothing is known of have no instant.
std::vector<HistorySpan> inSteps(const std::vector<HistorySpan>& spans, WallTime now, std::chrono::milliseconds step,
                                 std::size_t count) {
  std::vector<HistorySpan> sums(count);
  const auto place = [&](WallTime at) { return at.time_since_epoch() / step; };
  const auto first = place(now) - static_cast<std::int64_t>(count) + 1;
  for (const HistorySpan& span : spans) {
    const auto at = place(span.from) - first;
    if (at >= 0 && at < static_cast<std::int64_t>(count)) {
      HistorySpan& sum = sums[static_cast<std::size_t>(at)];
      sum.from = sum.from == WallTime{} ? span.from : sum.from;
      add(sum, span);
    }
  }
  return sums;
}

/// A bar for each span; `d` of a path.
std::string bars(const std::vector<HistorySpan>& spans, std::uint64_t HistorySpan::*figure, std::uint64_t most) {
  std::string path;
  for (std::size_t at = 0; at < spans.size(); ++at) {
    if (const std::uint64_t value = spans[at].*figure; value != 0) {
      // Also one of a million is seen.
      const auto height = std::max<std::uint64_t>(2, value * (kHeight - 4) / std::max<std::uint64_t>(1, most));
      path += "M" + std::to_string(at * 6 + 3) + " " + std::to_string(kHeight) + "v-" + std::to_string(height);
    }
  }
  return path;
}

Html chart(std::string_view about, const std::vector<HistorySpan>& spans, Markup step, Markup start) {
  std::uint64_t most = 0;
  std::uint64_t acked = 0;
  std::uint64_t failed = 0;
  for (const HistorySpan& span : spans) {
    most = std::max({most, span.acked, span.failed});
    acked += span.acked;
    failed += span.failed;
  }
  Html html;
  html.raw("<svg class=\"chart\" viewBox=\"0 0 ").text(std::to_string(spans.size() * 6)).raw(" 90\" ");
  html.raw("preserveAspectRatio=\"none\" role=\"img\" aria-label=\"").text(about).raw(": ").number(acked);
  html.raw(" messages acknowledged, ").number(failed).raw(" became dead letters\"><path class=\"base\" d=\"M0 88H");
  html.text(std::to_string(spans.size() * 6)).raw("\"/><path class=\"bars\" d=\"");
  html.text(bars(spans, &HistorySpan::acked, most)).raw("\"/><path class=\"bars bad\" d=\"");
  html.text(bars(spans, &HistorySpan::failed, most)).raw("\"/></svg>\n<p class=\"legend\"><span class=\"key ");
  html.raw("acked\">acknowledged</span><span class=\"key dead\">became dead letters</span><span>from ").raw(start);
  html.raw(" ago until now</span><span class=\"scale\">");
  return html.raw("the highest bar is ").number(most).raw(" in ").raw(step).raw("</span></p>\n");
}

Html table(std::string_view caption, const std::vector<HistorySpan>& spans) {
  CardTable rows(caption,
                 {"From", "#Enqueued", "#Acknowledged", "#Became dead letters", "#Received", "#Pending at its end"});
  const std::vector<HistorySpan> newestFirst(spans.rbegin(), spans.rend());
  for (const HistorySpan& span : newestFirst) {
    if (span.from != WallTime{}) {
      rows.text(records::instantText(span.from))
          .number(span.enqueued)
          .number(span.acked)
          .number(span.failed)
          .number(span.received)
          .number(span.pending);
    }
  }
  return rows.html();
}

}  // namespace

Html historyView(const View& view, const std::vector<HistorySpan>& day, const std::vector<HistorySpan>& week) {
  Html html;
  html.raw("<h1>History</h1>\n<div data-live=\"list\">\n");
  if (day.empty()) {
    return html
        .add(emptyNote("Nothing is known yet.",
                       "The daemon looks at the totals once a minute, and keeps them in its memory: they are lost when "
                       "it ends."))
        .raw("</div>\n");
  }
  const bool isFirstHour = std::chrono::floor<std::chrono::hours>(day.front().from) == week.front().from;
  html.raw("<p class=\"lead\">Since ").text(records::instantText((isFirstHour ? day : week).front().from));
  html.raw(
      ", looked at once a minute. The daemon keeps these figures in its memory: they are lost when it ends.</p>\n");
  html.raw("<section class=\"flow\"><h2>The last day</h2>\n");
  html.add(chart("The last day", inSteps(day, view.now, kQuarter, kQuarters), "15 minutes", "24 hours"));
  html.raw("</section>\n<section class=\"flow\"><h2>The last week</h2>\n");
  html.add(chart("The last week", inSteps(week, view.now, kHour, kHours), "an hour", "7 days")).raw("</section>\n");
  html.add(table("The last hour", inSteps(day, view.now, kQuarter, kQuartersListed)));
  html.add(table("The last 24 hours", inSteps(day, view.now, kHour, kHoursListed)));
  return html.add(table("The last seven days", inSteps(week, view.now, kDay, kDaysListed))).raw("</div>\n");
}

}  // namespace ackbox::serve::page
