#include "base/hex.hpp"
#include "json/line.hpp"
#include "records/message.hpp"
#include "records/text.hpp"
#include "serve/page/record_html.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kDataShown = std::size_t{64} * 1024;

/// The line that enqueues the same message again.
std::string lineOf(const MessageInfo& message, const Frame& frame) {
  json::Line line;
  line.add("peer", message.peer).add("session", message.session).add("type", message.type);
  return line.raw("data", frame.data.empty() ? "null" : json::oneLine(frame.data)).text();
}

/// `peer not configured` for `peerNotConfigured`.
std::string inWords(std::string_view name) {
  std::string words;
  for (const char letter : name) {
    const bool isCapital = letter >= 'A' && letter <= 'Z';
    words += isCapital ? std::string{' ', static_cast<char>(letter - 'A' + 'a')} : std::string(1, letter);
  }
  return words;
}

Html facts(const View& view, const MessageInfo& message, const std::optional<Frame>& frame) {
  const std::string ofSession =
      "messages?peer=" + percentEncoded(message.peer) + "&session=" + percentEncoded(message.session);
  Html html;
  html.raw("<dl class=\"facts\">\n");
  addFacts(html, message, view.now, [&](std::string_view name, const Html& value) {
    return name == "peer"      ? link(view, "peers/" + percentEncoded(message.peer), message.peer)
           : name == "session" ? link(view, ofSession, message.session)
           // The title, the sentence below it and the attempts have these.
           : name == "message_id" || name == "state" || name == "reason" ||
                   (name == "last_error" && !message.attempts.empty())
               ? Html()
               : value;
  });
  if (frame) {
    addFacts(html, *frame, view.now, [](std::string_view, const Html& value) { return value; });
  }
  return html.raw("</dl>\n");
}

}  // namespace

Html reasonChain(const View& view, const std::vector<Reason>& reasons) {
  Html html;
  if (reasons.size() < 2) {
    return html;
  }
  html.raw("<ol class=\"chain\">\n");
  for (const Reason& reason : reasons) {
    html.raw("<li><span class=\"badge\">").text(inWords(toString(reason.blockReason))).raw("</span>");
    if (reason.sequence != 0) {
      html.raw(" sequence ").number(reason.sequence);
    }
    if (reason.since != WallTime{}) {
      html.raw(" · since ").add(ago(view.now, reason.since));
    }
    if (reason.until != WallTime{}) {
      html.raw(" · ").add(ago(view.now, reason.until));
    }
    if (!reason.detail.empty()) {
      html.raw(" ").add(errorText(reason.detail));
    }
    html.raw("</li>\n");
  }
  return html.raw("</ol>\n");
}

namespace {

Html payload(const View& view, const MessageInfo& message, const Frame& frame) {
  Html html;
  const std::string& data = frame.data;
  html.raw("<details><summary>Payload, ").text(records::bytesText(data.size())).raw("</summary>\n<pre class=\"data\">");
  html.text(std::string_view(data).substr(0, kDataShown)).raw("</pre>\n");
  if (data.size() > kDataShown) {
    html.raw("<p>The first ").text(records::bytesText(kDataShown)).raw(" are shown: ");
    html.add(link(view, "v1/messages/" + percentEncoded(message.messageId) + "?data=true", "all of it as JSON"))
        .raw("</p>\n");
  }
  html.raw("</details>\n");
  if (data.size() <= kDataShown) {
    html.raw("<details><summary>Enqueue a copy with curl: a new message, which takes effect again</summary>\n");
    html.add(enqueueCommand(view, lineOf(message, frame))).raw("</details>\n");
  }
  return html;
}

}  // namespace

Html messageView(const View& view, const Explanation& explanation, const std::optional<Frame>& frame) {
  const MessageInfo& message = explanation.message;
  Html html;
  html.raw("<div data-live=\"message\"><header class=\"title\"><h1 class=\"id\">").text(message.messageId).raw("</h1>");
  html.add(badge(message.state)).raw("<span class=\"actions\">");
  if (message.state == MessageState::failed) {
    const std::string filter = "{\"ids\":[" + json::asString(message.messageId) + "]}";
    html.add(bulkActions(view, "with this id", filter));
  }
  if (message.state == MessageState::pending || message.state == MessageState::sent) {
    html.add(deadLetterAction(view, message.messageId));
  }
  if (message.state == MessageState::acked) {
    html.add(resendAction(view, message.messageId));
  }
  html.raw("</span></header>\n<p class=\"lead\">").text(explanation.sentence).raw("</p>\n");
  html.add(reasonChain(view, explanation.reasons))
      .add(facts(view, message, frame))
      .add(message.attempts.empty() ? Html() : tableOf("Attempts, newest first", message.attempts, view.now))
      .raw("</div>\n");
  return frame ? html.add(payload(view, message, *frame)) : html;
}

}  // namespace ackbox::serve::page
