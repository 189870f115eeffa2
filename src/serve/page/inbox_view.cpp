#include "cli/inbox_view.hpp"

#include "cli/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

/// What a frame in hand waits for; otherwise what went wrong last.
std::string standingOf(const InboxInfo& frame, const FrameWaits& waits) {
  const std::string_view waitsFor = waits.of(frame);
  return waitsFor.empty() ? frame.lastError : "waits for " + std::string(waitsFor);
}

}  // namespace

Html inboxView(const View& view, const InboxList& list) {
  Html html;
  html.raw("<h1>Inbox</h1>\n<div data-live=\"list\">\n");
  if (list.page.frames.empty()) {
    html.raw("<p class=\"empty\">No inbound frame waits for its handler.</p>\n");
  } else {
    html.raw("<p class=\"lead\">").number(list.waiting).raw(" inbound frames wait for their handlers.</p>\n");
    CardTable table("Inbound frames, in the order of their acceptance",
                    {"Frame", "State", "Sender", "Session", "#Sequence", "Type", "Accepted", "#Runs", "Why"});
    for (const InboxInfo& frame : list.page.frames) {
      table.cell(Html().raw("<span class=\"id\">").text(frame.messageId).raw("</span>"))
          .cell(badge(cli::inboxStateName(frame.state)))
          .text(frame.source)
          .text(frame.session)
          .cell(frame.sequence == 0 ? Html().raw("–") : Html().number(frame.sequence))
          .text(frame.type)
          .cell(ago(view.now, frame.acceptedAt))
          .number(frame.startCount)
          .cell(Html().raw("<span class=\"error\">").text(standingOf(frame, list.waits)).raw("</span>"));
    }
    html.add(table.html());
  }
  html.add(pager(view, "inbox?after=", list.page.next, list.isFirst));
  if (!list.senders.empty()) {
    CardTable table("Senders", {"Sender", "#Sessions", "#Stores", "#In the inbox", "#Kept"});
    for (const InboundSenderStats& sender : list.senders) {
      table.text(sender.source)
          .number(sender.sessions)
          .number(sender.origins)
          .number(sender.inbox)
          .text(cli::bytesText(sender.bytes));
    }
    html.add(table.html());
  }
  return html.raw("</div>\n");
}

}  // namespace ackbox::serve::page
