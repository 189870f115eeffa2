#include "base/hex.hpp"
#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

std::string targetOf(const std::string& peer, const std::string& session) {
  return "sessions/" + percentEncoded(peer) + "/" + percentEncoded(session);
}

Html sessionLink(const View& view, const std::string& peer, const std::string& session) {
  return link(view, "messages?peer=" + percentEncoded(peer) + "&session=" + percentEncoded(session), session);
}

Html blockedTable(const View& view, const std::vector<BlockedSession>& sessions, bool isCut) {
  CardTable table(isCut ? "Stopped by a dead letter, those of the oldest ones" : "Stopped by a dead letter",
                  {"Session and peer", "Since", "#Waiting", "Dead letter", "Actions"});
  for (const BlockedSession& session : sessions) {
    const std::string why = records::joined(session.reason, session.lastError);
    table.cell(sessionLink(view, session.peer, session.session).add(beneath(breakable(session.peer))))
        .cell(ago(view.now, session.since))
        .number(session.waiting)
        .cell(messageLink(view, session.messageId).add(beneath(errorText(why))))
        .cell(action(view, "Unblock", targetOf(session.peer, session.session) + ":unblock"));
  }
  return table.html();
}

std::string_view stateOf(const View& view, const SessionStats& session) {
  return session.pausedAt                             ? "paused"
         : session.blockedAt                          ? "blocked"
         : session.inFlight                           ? "in flight"
         : session.live == 0                          ? "idle"
         : session.dueAt && *session.dueAt > view.now ? "backoff"
                                                      : "waiting";
}

/// The actions that are possible in the session's state.
Html sessionActions(const View& view, const SessionStats& session) {
  const std::string target = targetOf(session.peer, session.session);
  Html html = session.pausedAt ? action(view, "Resume", target + ":resume") : action(view, "Pause", target + ":pause");
  return session.blockedAt ? html.add(action(view, "Unblock", target + ":unblock")) : html;
}

/// Since when the session is held, or when it continues.
Html instantsOf(const View& view, const SessionStats& session) {
  if (const std::optional<WallTime> held = session.pausedAt ? session.pausedAt : session.blockedAt) {
    return Html().raw("since ").add(ago(view.now, held));
  }
  return session.dueAt && *session.dueAt > view.now ? Html().raw("tried again ").add(ago(view.now, session.dueAt))
                                                    : Html();
}

}  // namespace

Html sessionsView(const View& view, const SessionList& list) {
  Html html;
  html.raw("<h1>Sessions</h1>\n<div data-live=\"list\">\n");
  if (!list.blocked.empty()) {
    html.add(blockedTable(view, list.blocked, list.isBlockedCut));
  }
  if (list.page.sessions.empty()) {
    html.add(list.page.next != 0
                 ? emptyNote("None of these sessions has messages.", "A page reads 10,000 sessions: go on to the next.")
                 : emptyNote("Nothing waits in any session.",
                             "A session is shown while it has messages that wait or dead letters, "
                             "or is paused."));
  } else {
    CardTable table("With messages that wait or dead letters, or paused",
                    {"Session and peer", "State", "#Waiting", "#Dead letters", "#Newest", "#Accepted", "Actions"});
    for (const SessionStats& session : list.page.sessions) {
      table.cell(sessionLink(view, session.peer, session.session).add(beneath(breakable(session.peer))))
          .cell(badge(stateOf(view, session)).add(beneath(instantsOf(view, session))))
          .number(session.live)
          .number(session.failed)
          .number(session.lastSequence)
          .number(session.acceptedSequence)
          .cell(sessionActions(view, session));
    }
    html.add(table.html());
  }
  const std::string address =
      list.peer.empty() ? "sessions?after=" : "sessions?peer=" + percentEncoded(list.peer) + "&after=";
  return html.add(pager(view, address, list.page.next, list.isFirst)).raw("</div>\n");
}

}  // namespace ackbox::serve::page
