#include <algorithm>
#include <map>
#include <utility>

#include "base/error_fingerprint.hpp"
#include "base/hex.hpp"
#include "json/line.hpp"
#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kGroupsShown = 40;
constexpr std::size_t kErrorShown = 300;

/// What `POST /v1/dead-letters:retry` chooses the group by.
std::string filterOf(const DeadLetterOverview& overview, const DeadLetterGroup& group) {
  json::Line line;
  line.add("reason", group.reason).add("error_like", group.lastError);
  if (!overview.peer.empty()) {
    line.add("peer", overview.peer);
  }
  if (!overview.type.empty()) {
    line.add("type", overview.type);
  }
  return line.text();
}

std::string subjectOf(const DeadLetterOverview& overview, const DeadLetterGroup& group) {
  return "with the reason " + group.reason + (group.lastError.empty() ? " and no error" : " and an error like this") +
         (overview.peer.empty() ? "" : ", to " + overview.peer) +
         (overview.type.empty() ? "" : ", of type " + overview.type);
}

/// The only one of the names, or how many they are.
Html namesOf(const std::set<std::string>& names, std::string_view noun) {
  return names.size() == 1 ? breakable(*names.begin()) : Html().text(records::countText(names.size(), noun));
}

Html filters(const View& view, const DeadLetterOverview& overview) {
  Html html;
  html.raw("<form class=\"filters\" method=\"get\" action=\"").text(view.root).raw("dead-letters\">\n");
  html.add(textField("Peer, exactly", "peer", overview.peer)).add(textField("Type, exactly", "type", overview.type));
  return html.raw("<button type=\"submit\">Show</button></form>\n");
}

void addRow(const View& view, const DeadLetterOverview& overview, const DeadLetterGroup& group, CardTable& table) {
  const Html oldest =
      group.oldestAt == group.newestAt ? Html() : Html().raw("first ").add(ago(view.now, group.oldestAt));
  const Html newest = link(view, "messages/" + percentEncoded(group.messageId), "the newest of them");
  table.cell(Html().raw("<strong>").text(group.reason).raw("</strong>"))
      .cell(errorText(records::shortened(group.lastError, kErrorShown)).add(beneath(newest)))
      .cell(Html().number(group.count).raw(overview.isCut ? Markup("+") : Markup("")))
      .cell(namesOf(group.peers, "peer").add(beneath(namesOf(group.types, "type"))))
      .cell(ago(view.now, group.newestAt).add(beneath(oldest)))
      .cell(bulkActions(view, subjectOf(overview, group), filterOf(overview, group)));
}

}  // namespace

std::vector<DeadLetterGroup> groupsOf(const std::vector<MessageInfo>& deadLetters) {
  std::map<std::pair<std::string, std::string>, DeadLetterGroup> byCause;
  for (const MessageInfo& message : deadLetters) {
    DeadLetterGroup& group = byCause[{message.reason, errorFingerprint(message.lastError)}];
    if (group.count++ == 0) {
      group.oldestAt = message.dueAt;
    }
    group.reason = message.reason;
    group.peers.insert(message.peer);
    group.types.insert(message.type);
    group.oldestAt = std::min(group.oldestAt, message.dueAt);
    if (message.dueAt >= group.newestAt) {
      group.newestAt = message.dueAt;
      group.lastError = message.lastError;
      group.messageId = message.messageId;
    }
  }
  std::vector<DeadLetterGroup> groups;
  groups.reserve(byCause.size());
  for (auto& [cause, group] : byCause) {
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, [](const auto& left, const auto& right) { return left.count > right.count; });
  return groups;
}

Html deadLettersView(const View& view, const DeadLetterOverview& overview) {
  const bool isFiltered = !overview.peer.empty() || !overview.type.empty();
  Html html;
  html.raw("<h1>Dead letters</h1>\n");
  if (!overview.groups.empty() || isFiltered) {
    html.add(filters(view, overview));
  }
  html.raw("<div data-live=\"list\">\n");
  if (overview.groups.empty()) {
    return html
        .add(isFiltered && overview.failed != 0
                 ? emptyNote("No dead letter fits.", "Choose another peer or type.")
                 : emptyNote("There are no dead letters.",
                             "A message that is not sent any more is listed here, with the reason, until you retry "
                             "or discard it."))
        .raw("</div>\n");
  }
  html.raw("<p class=\"lead\"><strong>").number(overview.failed);
  html.text(overview.failed == 1 ? " dead letter" : " dead letters")
      .raw("</strong>, grouped by reason and by the form of the error: numbers and ids in it do not count.");
  if (overview.isCut) {
    html.raw(" The groups are of the newest ").number(overview.looked);
    html.raw("; Retry and Discard act on whole groups, also on older dead letters.");
  }
  html.raw("</p>\n");
  CardTable table("Groups of dead letters", {"Reason", "Newest error", "#Count", "Peer and type", "Since", "Actions"},
                  true);
  for (std::size_t at = 0; at < std::min(kGroupsShown, overview.groups.size()); ++at) {
    addRow(view, overview, overview.groups[at], table);
  }
  html.add(table.html());
  if (overview.groups.size() > kGroupsShown) {
    html.raw("<p>").number(overview.groups.size() - kGroupsShown).raw(" smaller groups are not shown.</p>\n");
  }
  const std::string target =
      "messages?" + parameter("peer", overview.peer) + parameter("type", overview.type) + "state=failed";
  return html.raw("<p>").add(link(view, target, "List them one by one")).raw("</p></div>\n");
}

}  // namespace ackbox::serve::page
