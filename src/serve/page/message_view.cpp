#include <algorithm>

#include "cli/json_line.hpp"
#include "cli/message_view.hpp"
#include "cli/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kDataShown = std::size_t{64} * 1024;

/// For a shell, in single quotes.
std::string quotedForShell(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return quoted + "'";
}

/// Enqueues the same once more; the script puts the address in front.
std::string curlOf(const MessageInfo& message, const Frame& frame, bool hasLogin) {
  cli::JsonLine line;
  line.add("peer", message.peer).add("session", message.session).add("type", message.type);
  line.raw("data", frame.data.empty() ? "null" : cli::oneLine(frame.data));
  return std::string("curl \"$ACKBOX_URL/v1/messages\" -H 'Content-Type: application/json'") +
         (hasLogin ? " -H \"Authorization: Bearer $ACKBOX_TOKEN\"" : "") + " -d " + quotedForShell(line.text());
}

Html facts(const View& view, const MessageInfo& message) {
  Html html;
  const auto fact = [&](Markup name, const Html& value) {
    html.raw("<dt>").raw(name).raw("</dt><dd>").add(value).raw("</dd>\n");
  };
  html.raw("<dl class=\"facts\">\n");
  fact("Peer", link(view, "messages?peer=" + urlEncoded(message.peer), message.peer));
  if (message.sequence == 0) {
    fact("Session", Html().raw("none: unordered"));
  } else {
    Html session = link(view, "messages?peer=" + urlEncoded(message.peer) + "&session=" + urlEncoded(message.session),
                        message.session);
    fact("Session", session.raw(", number ").number(message.sequence));
  }
  fact("Type", Html().text(message.type));
  fact("Enqueued", ago(view.now, message.enqueuedAt));
  if (message.state == MessageState::failed) {
    fact("Failed", ago(view.now, message.dueAt));
    fact("Reason", Html().text(message.reason));
  } else if (message.dueAt > view.now) {
    fact("Due", ago(view.now, message.dueAt));
  }
  fact("Charged attempts", Html().number(message.retryCount));
  if (!message.lastError.empty()) {
    fact("Last error", Html().raw("<span class=\"error\">").text(message.lastError).raw("</span>"));
  }
  return html.raw("</dl>\n");
}

Html reasons(const View& view, const Explanation& explanation) {
  Html html;
  if (explanation.reasons.empty()) {
    return html;
  }
  html.raw("<ol class=\"chain\">\n");
  for (const Reason& reason : explanation.reasons) {
    html.raw("<li><span class=\"badge\">").text(toString(reason.hindrance)).raw("</span>");
    if (reason.sequence != 0) {
      html.raw(" sequence ").number(reason.sequence);
    }
    if (reason.since != WallTime{}) {
      html.raw(" since ").add(ago(view.now, reason.since));
    }
    if (reason.until != WallTime{}) {
      html.text(reason.until > view.now ? " until " : " at ").add(ago(view.now, reason.until));
    }
    if (!reason.detail.empty()) {
      html.raw(" <span class=\"error\">").text(reason.detail).raw("</span>");
    }
    html.raw("</li>\n");
  }
  return html.raw("</ol>\n");
}

Html attempts(const View& view, const std::vector<AttemptInfo>& attempts) {
  CardTable table("Attempts, newest first", {"Last", "First", "#Times", "#Took", "#Status", "Outcome", "Error"});
  for (const AttemptInfo& attempt : attempts) {
    table.cell(ago(view.now, attempt.lastAt))
        .cell(ago(view.now, attempt.firstAt))
        .number(attempt.count)
        .text(attempt.took ? std::to_string(attempt.took->count()) + " ms" : "–")
        .text(attempt.status == 0 ? "–" : std::to_string(attempt.status))
        .text(attempt.outcome)
        .cell(Html().raw("<span class=\"error\">").text(attempt.error).raw("</span>"));
  }
  return table.empty() ? Html() : table.html();
}

Html payload(const View& view, const MessageInfo& message, const Frame& frame) {
  Html html;
  const std::string& data = frame.data;
  html.raw("<details><summary>Payload, ").text(cli::bytesText(data.size())).raw("</summary>\n<pre class=\"data\">");
  html.text(std::string_view(data).substr(0, kDataShown)).raw("</pre>\n");
  if (data.size() > kDataShown) {
    html.raw("<p>The first ").text(cli::bytesText(kDataShown)).raw(" are shown: ");
    html.add(link(view, "v1/messages/" + urlEncoded(message.messageId) + "?data=true", "all of it as JSON"))
        .raw("</p>\n");
  }
  html.raw("</details>\n");
  if (data.size() <= kDataShown) {
    html.raw("<details><summary>Enqueue it once more, with curl</summary>\n<pre class=\"data\" id=\"curl\">");
    html.text(curlOf(message, frame, view.hasLogin)).raw("</pre>\n");
    html.raw("<button type=\"button\" class=\"act script\" data-copy=\"curl\">Copy</button></details>\n");
  }
  return html;
}

}  // namespace

Html messageView(const View& view, const Explanation& explanation, const std::optional<Frame>& frame) {
  const MessageInfo& message = explanation.message;
  Html html;
  html.raw("<div data-live=\"message\"><header class=\"title\"><h1 class=\"id\">").text(message.messageId).raw("</h1>");
  html.add(badge(cli::stateName(message.state))).raw("<span class=\"actions\">");
  if (message.state == MessageState::failed) {
    const std::string filter = "{\"ids\":[" + cli::jsonText(message.messageId) + "]}";
    html.add(bulkAction(view, "retry", "this dead letter", filter));
    html.add(bulkAction(view, "discard", "this dead letter", filter));
  }
  html.raw("</span></header>\n<p class=\"lead\">").text(explanation.sentence).raw("</p>\n");
  html.add(reasons(view, explanation)).add(facts(view, message)).add(attempts(view, message.attempts)).raw("</div>\n");
  return frame ? html.add(payload(view, message, *frame)) : html;
}

}  // namespace ackbox::serve::page
