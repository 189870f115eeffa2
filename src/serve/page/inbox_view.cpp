#include "base/hex.hpp"
#include "json/line.hpp"
#include "records/inbox_frame.hpp"
#include "records/sender.hpp"
#include "records/text.hpp"
#include "serve/page/record_html.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kFrameDataShown = std::size_t{64} * 1024;
constexpr std::size_t kFrameErrorShown = 300;
constexpr Markup kNotDone = " received and not done yet, the oldest first.</p>\n";

/// What the frame waits for, or the application that has it; otherwise its last error.
std::string standingOf(const InboxInfo& frame, const FrameWaits& waits) {
  const std::string_view holder = waits.holderOf(frame);
  return frame.state == InboxState::behind ? "waits for the frames before it in its session"
         : !frame.waitsFor.empty()         ? "waits for " + frame.waitsFor
         : !holder.empty()                 ? "in hand of " + std::string(holder)
                                           : records::joined(frame.reason, frame.lastError);
}

/// The actions for a frame that no application has in hand.
Html actionsFor(const View& view, const InboxInfo& frame) {
  if (frame.state == InboxState::running || frame.state == InboxState::ended) {
    return {};
  }
  // Nothing would run: an earlier frame or the application is what it waits for.
  const bool mayRun = frame.state != InboxState::behind && frame.state != InboxState::unattended;
  return inboxActions(
      view, frame.type + " from " + frame.source + ", " + frame.messageId,
      R"({"frames":[)" + json::Line().add("source", frame.source).add("message_id", frame.messageId).text() + "]}",
      mayRun);
}

/// With the mailbox that the frame is in.
Html senderOf(const InboxInfo& frame) {
  Html html = breakable(frame.source);
  if (!frame.mailbox.empty()) {
    html.raw(" to ").add(breakable(frame.mailbox));
  }
  return html;
}

Html filters(const View& view, const InboxList& list) {
  Html html;
  html.raw("<form class=\"filters\" method=\"get\" action=\"").text(view.root).raw("inbox\">\n");
  html.raw("<label>State <select name=\"state\">").add(option("", "any", list.state));
  for (const std::string_view state : {"waiting", "unattended", "behind", "running", "backoff", "ended"}) {
    html.add(option(state, state, list.state));
  }
  html.raw("</select></label>\n")
      .add(textField("Sender, exactly", "source", list.source))
      .add(textField("Id or type, or a part of session, sender or error", "text", list.text));
  return html.raw("<button type=\"submit\">Show</button></form>\n");
}

Html emptyList(const InboxList& list) {
  return list.page.next != 0
             ? emptyNote("None of these frames matches.", "A page reads 10,000 frames: go on to the next.")
         : !list.state.empty() || !list.source.empty() || !list.text.empty()
             ? emptyNote("No frame fits.", "Choose another state, sender or text.")
             : emptyNote(
                   "No inbound frame waits.",
                   "With <code>inbox</code> in the daemon's configuration, frames from peers are shown here until "
                   "an application is done with them.");
}

Html payload(const InboundFrame& frame) {
  const std::string& data = frame.data;
  Html html;
  html.raw("<details open><summary>Payload, ").text(records::bytesText(data.size()));
  html.raw("</summary>\n<pre class=\"data\">").text(std::string_view(data).substr(0, kFrameDataShown)).raw("</pre>\n");
  if (data.size() > kFrameDataShown) {
    html.raw("<p>The first ").text(records::bytesText(kFrameDataShown));
    html.raw(" are shown; all of it: <code>ackbox inbox-show</code>.</p>\n");
  }
  return html.raw("</details>\n");
}

}  // namespace

Html frameLink(const View& view, const InboxInfo& frame) {
  Html html;
  html.raw("<a class=\"id\" href=\"").text(view.root).raw("inbox/").text(percentEncoded(frame.messageId));
  html.raw("?source=").text(percentEncoded(frame.source)).raw("&amp;row=").text(std::to_string(frame.row));
  return html.raw("\">").text(frame.messageId).raw("</a>");
}

Html frameTable(const View& view, std::string_view caption, const std::vector<InboxInfo>& frames,
                const FrameWaits& waits) {
  CardTable table(caption, {"Frame", "State", "Sender and session", "Accepted", "#Runs", "Why", "Actions"}, true);
  for (InboxInfo frame : frames) {
    waits.complete(frame);
    Html session;
    if (frame.sequence != 0) {
      session.add(breakable(frame.session)).raw(" · ").number(frame.sequence);
    }
    table.cell(frameLink(view, frame).add(beneath(breakable(frame.type))))
        .cell(badge(records::nameOf(frame.state)))
        .cell(senderOf(frame).add(beneath(session)))
        .cell(frame.state == InboxState::ended ? Html().raw("ended ").add(ago(view.now, frame.endedAt))
                                               : ago(view.now, frame.acceptedAt))
        .number(frame.startCount)
        .cell(errorText(records::shortened(standingOf(frame, waits), kFrameErrorShown)))
        .cell(actionsFor(view, frame));
  }
  return table.html();
}

Html inboxView(const View& view, const InboxList& list) {
  Html html;
  html.raw("<h1>Inbox</h1>\n").add(filters(view, list)).raw("<div data-live=\"list\">\n");
  if (list.page.frames.empty()) {
    html.add(emptyList(list));
  } else {
    const bool isFiltered = !list.state.empty() || !list.source.empty() || !list.text.empty();
    html.raw("<p class=\"lead\"><strong>");
    if (list.state == records::nameOf(InboxState::ended)) {
      html.number(list.page.frames.size()).raw(" here</strong>, refused for good, the last first.</p>\n");
    } else if (isFiltered) {
      html.number(list.page.frames.size()).raw(" here</strong>, of ").number(list.waiting).raw(kNotDone);
    } else {
      html.number(list.waiting).text(list.waiting == 1 ? " frame" : " frames").raw("</strong>").raw(kNotDone);
    }
    html.add(frameTable(view, "Inbound frames", list.page.frames, list.waits));
  }
  const std::string address = "inbox?" + parameter("state", list.state) + parameter("source", list.source) +
                              parameter("text", list.text) + "after=";
  html.add(pager(view, address, list.page.next, list.isFirst));
  if (!list.senders.empty()) {
    html.add(tableOf("Senders", list.senders, view.now));
  }
  return html.raw("</div>\n");
}

Html frameView(const View& view, const InboxExplanation& explanation, const std::optional<InboundFrame>& content,
               const FrameWaits& waits) {
  InboxInfo frame = explanation.frame;
  waits.complete(frame);
  const std::string_view holder = waits.holderOf(frame);
  Html html;
  html.raw("<div data-live=\"frame\"><header class=\"title\"><h1 class=\"id\">").text(frame.messageId).raw("</h1>");
  html.add(badge(records::nameOf(frame.state))).raw("<span class=\"actions\">").add(actionsFor(view, frame));
  html.raw("</span></header>\n<p class=\"lead\">").text(explanation.sentence);
  if (!holder.empty()) {
    html.raw(" It is in hand of ").text(holder).raw(".");
  }
  html.raw("</p>\n").add(reasonChain(view, explanation.reasons)).raw("<dl class=\"facts\">\n");
  addFacts(html, frame, view.now, [](std::string_view name, const Html& value) {
    // The title shows these.
    return name == "message_id" || name == "state" ? Html() : value;
  });
  if (content) {
    addFacts(html, *content, view.now, [](std::string_view, const Html& value) { return value; });
  }
  html.raw("</dl></div>\n");
  return content ? html.add(payload(*content)) : html;
}

}  // namespace ackbox::serve::page
