#include <algorithm>
#include <map>
#include <tuple>

#include "cli/json_line.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kGroupsShown = 200;

std::string filterOf(const DeadLetterGroup& group) {
  return cli::JsonLine().add("reason", group.reason).add("peer", group.peer).add("type", group.type).text();
}

std::string subjectOf(const DeadLetterGroup& group) {
  return "dead letters of type " + group.type + " to " + group.peer + ", reason " + group.reason;
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
  Html html;
  html.raw("<h1>Dead letters</h1>\n<div data-live=\"list\">\n");
  if (overview.failed == 0 && overview.groups.empty()) {
    return html.raw("<p class=\"empty\">There are no dead letters.</p></div>\n");
  }
  html.raw("<p class=\"lead\">").number(overview.failed).text(overview.failed == 1 ? " dead letter" : " dead letters");
  html.raw(", grouped by reason, peer and type");
  if (overview.isCut) {
    html.raw("; the groups count the oldest ").number(overview.looked).raw(", and an action takes all of its group");
  }
  html.raw(".</p>\n");
  CardTable table("Groups of dead letters",
                  {"Reason", "Peer", "Type", "#Count", "Oldest", "Newest", "Last error", "Actions"}, true);
  for (std::size_t at = 0; at < std::min(kGroupsShown, overview.groups.size()); ++at) {
    const DeadLetterGroup& group = overview.groups[at];
    Html actions = bulkAction(view, "retry", subjectOf(group), filterOf(group));
    actions.add(bulkAction(view, "discard", subjectOf(group), filterOf(group)));
    Html error;
    error.raw("<span class=\"error\">")
        .text(group.lastError)
        .raw("</span> ")
        .add(link(view, "messages/" + urlEncoded(group.messageId), "example"));
    table.cell(Html().raw("<strong>").text(group.reason).raw("</strong>"))
        .text(group.peer)
        .text(group.type)
        .number(group.count)
        .cell(ago(view.now, group.oldestAt))
        .cell(ago(view.now, group.newestAt))
        .cell(error)
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
