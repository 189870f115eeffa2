#include <algorithm>
#include <map>
#include <tuple>

#include "base/hex.hpp"
#include "json/line.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kGroupsShown = 200;

std::string filterOf(const DeadLetterGroup& group) {
  return json::Line().add("reason", group.reason).add("peer", group.peer).add("type", group.type).text();
}

std::string subjectOf(const DeadLetterGroup& group) {
  return "of type " + group.type + " to " + group.peer + ", reason " + group.reason;
}

}  // namespace

std::vector<DeadLetterGroup> groupsOf(const std::vector<MessageInfo>& deadLetters) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, DeadLetterGroup> byKey;
  for (const MessageInfo& message : deadLetters) {
    DeadLetterGroup& group = byKey[{message.reason, message.peer, message.type}];
    if (group.count++ == 0) {
      group.oldestAt = message.dueAt;
    }
    group.oldestAt = std::min(group.oldestAt, message.dueAt);
    if (message.dueAt >= group.newestAt) {
      group.newestAt = message.dueAt;
      group.lastError = message.lastError;
      group.messageId = message.messageId;
    }
  }
  std::vector<DeadLetterGroup> groups;
  for (auto& [key, group] : byKey) {
    std::tie(group.reason, group.peer, group.type) = key;
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, [](const auto& left, const auto& right) { return left.count > right.count; });
  return groups;
}

Html deadLettersView(const View& view, const DeadLetterOverview& overview) {
  const bool isCut = overview.looked < overview.failed;
  Html html;
  html.raw("<h1>Dead letters</h1>\n<div data-live=\"list\">\n");
  if (overview.failed == 0 && overview.groups.empty()) {
    return html
        .add(emptyNote("There are no dead letters.",
                       "A message that is given up is listed here, with the reason, until you retry or discard it."))
        .raw("</div>\n");
  }
  html.raw("<p class=\"lead\"><strong>").number(overview.failed);
  html.text(overview.failed == 1 ? " dead letter" : " dead letters")
      .raw("</strong>, grouped by reason, peer and type.");
  if (isCut) {
    html.raw(" The groups are of the newest ").number(overview.looked);
    html.raw("; Retry and Discard act on whole groups, also on older dead letters.");
  }
  html.raw("</p>\n");
  CardTable table("Groups of dead letters", {"Reason", "Peer and type", "#Count", "Failed", "Last error", "Actions"},
                  true);
  for (std::size_t at = 0; at < std::min(kGroupsShown, overview.groups.size()); ++at) {
    const DeadLetterGroup& group = overview.groups[at];
    Html actions = bulkAction(view, "retry", subjectOf(group), filterOf(group));
    actions.add(bulkAction(view, "discard", subjectOf(group), filterOf(group)));
    const Html oldest =
        group.oldestAt == group.newestAt ? Html() : Html().raw("first ").add(ago(view.now, group.oldestAt));
    const Html newest = link(view, "messages/" + percentEncoded(group.messageId), "the newest of them");
    table.cell(Html().raw("<strong>").text(group.reason).raw("</strong>"))
        .cell(breakable(group.peer).add(beneath(breakable(group.type))))
        .cell(Html().number(group.count).raw(isCut ? Markup("+") : Markup("")))
        .cell(ago(view.now, group.newestAt).add(beneath(oldest)))
        .cell(errorText(group.lastError).add(beneath(newest)))
        .cell(actions);
  }
  html.add(table.html());
  if (overview.groups.size() > kGroupsShown) {
    html.raw("<p>").number(overview.groups.size() - kGroupsShown).raw(" smaller groups are not shown.</p>\n");
  }
  html.raw("<p>").add(link(view, "messages?state=failed", "List them one by one")).raw("</p></div>\n");
  return html;
}

}  // namespace ackbox::serve::page
