#include "json/line.hpp"
#include "records/inbox_frame.hpp"
#include "records/sender.hpp"
#include "serve/page/record_html.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

/// What the frame waits for, or the application that has it; otherwise its last error.
std::string standingOf(const InboxInfo& frame, const FrameWaits& waits) {
  const std::string_view holder = waits.holderOf(frame);
  return !frame.waitsFor.empty() ? "waits for " + frame.waitsFor
         : !holder.empty()       ? "in hand of " + std::string(holder)
                                 : frame.lastError;
}

/// The actions for a frame that no application has in hand.
Html actionsFor(const View& view, const InboxInfo& frame) {
  if (frame.state == InboxState::running) {
    return {};
  }
  const std::string choice =
      R"({"frames":[)" + json::Line().add("source", frame.source).add("message_id", frame.messageId).text() + "]}";
  Html html = inboxAction(view, "retry", choice);
  return html.add(inboxAction(view, "discard", choice));
}

/// With the mailbox that the frame is in.
Html senderOf(const InboxInfo& frame) {
  Html html = breakable(frame.source);
  if (!frame.mailbox.empty()) {
    html.raw(" to ").add(breakable(frame.mailbox));
  }
  return html;
}

}  // namespace

Html inboxView(const View& view, const InboxList& list) {
  Html html;
  html.raw("<h1>Inbox</h1>\n<div data-live=\"list\">\n");
  if (list.page.frames.empty()) {
    html.add(emptyNote("No inbound frame waits.",
                       "With <code>inbox</code> in the daemon's configuration, frames from peers are shown here until "
                       "an application is done with them."));
  } else {
    html.raw("<p class=\"lead\"><strong>").number(list.waiting).text(list.waiting == 1 ? " frame" : " frames");
    html.raw("</strong> received and not done yet, the oldest first.</p>\n");
    CardTable table("Inbound frames", {"Frame", "State", "Sender and session", "Accepted", "#Runs", "Why", "Actions"},
                    true);
    for (InboxInfo frame : list.page.frames) {
      list.waits.complete(frame);
      Html session;
      if (frame.sequence != 0) {
        session.add(breakable(frame.session)).raw(" · ").number(frame.sequence);
      }
      table
          .cell(Html()
                    .raw("<span class=\"id\">")
                    .text(frame.messageId)
                    .raw("</span>")
                    .add(beneath(breakable(frame.type))))
          .cell(badge(records::nameOf(frame.state)))
          .cell(senderOf(frame).add(beneath(session)))
          .cell(ago(view.now, frame.acceptedAt))
          .number(frame.startCount)
          .cell(errorText(standingOf(frame, list.waits)))
          .cell(actionsFor(view, frame));
    }
    html.add(table.html());
  }
  html.add(pager(view, "inbox?after=", list.page.next, list.isFirst));
  if (!list.senders.empty()) {
    html.add(tableOf("Senders", list.senders, view.now));
  }
  return html.raw("</div>\n");
}

}  // namespace ackbox::serve::page
