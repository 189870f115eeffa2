#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

std::string targetOf(const std::string& peer, const std::string& session) {
  return "sessions/" + urlEncoded(peer) + "/" + urlEncoded(session);
}

Html sessionLink(const View& view, const std::string& peer, const std::string& session) {
  return link(view, "messages?peer=" + urlEncoded(peer) + "&session=" + urlEncoded(session), session);
}

Html blockedTable(const View& view, const std::vector<BlockedSession>& sessions) {
  CardTable table("Stopped by a dead letter",
                  {"Peer", "Session", "Since", "#Waiting", "Dead letter", "Why", "Actions"});
  for (const BlockedSession& session : sessions) {
    table.text(session.peer)
        .cell(sessionLink(view, session.peer, session.session))
        .cell(ago(view.now, session.since))
        .number(session.waiting)
        .cell(messageLink(view, session.messageId))
        .cell(Html().raw("<span class=\"error\">").text(session.reason).raw(" ").text(session.lastError).raw("</span>"))
        .cell(action(view, "Unblock", targetOf(session.peer, session.session) + ":unblock"));
  }
  return table.html();
}

}  // namespace

Html sessionsView(const View& view, const SessionList& list) {
  Html html;
  html.raw("<h1>Sessions</h1>\n<div data-live=\"list\">\n");
  if (!list.blocked.empty()) {
    html.add(blockedTable(view, list.blocked));
  }
  if (list.page.sessions.empty()) {
    html.raw("<p class=\"empty\">No session has messages that wait, or dead letters.</p>\n");
  } else {
    CardTable table("With messages that wait, or dead letters",
                    {"Peer", "Session", "#Waiting", "#Dead", "#Newest", "#Accepted", "Next attempt", "Actions"});
    for (const SessionStats& session : list.page.sessions) {
      const std::string target = targetOf(session.peer, session.session);
      Html actions = action(view, "Pause", target + ":pause");
      table.text(session.peer)
          .cell(sessionLink(view, session.peer, session.session))
          .number(session.live)
          .number(session.failed)
          .number(session.lastSequence)
          .number(session.acceptedSequence)
          .cell(session.inFlight ? Html().raw("in flight") : ago(view.now, session.dueAt))
          .cell(actions.add(action(view, "Resume", target + ":resume")));
    }
    html.add(table.html());
  }
  const std::string address =
      list.peer.empty() ? "sessions?after=" : "sessions?peer=" + urlEncoded(list.peer) + "&after=";
  return html.add(pager(view, address, list.page.next, list.isFirst)).raw("</div>\n");
}

}  // namespace ackbox::serve::page
