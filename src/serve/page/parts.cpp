#include "serve/page/parts.hpp"

#include <algorithm>
#include <array>

#include "ackbox/version.hpp"
#include "base/hex.hpp"
#include "records/message.hpp"
#include "records/text.hpp"
#include "serve/page/assets.hpp"

namespace ackbox::serve::page {
namespace {

struct Entry {
  std::string_view path;
  std::string_view name;
};
constexpr auto kEntries = std::to_array<Entry>({{"", "Overview"},
                                                {"peers", "Peers"},
                                                {"dead-letters", "Dead letters"},
                                                {"messages", "Messages"},
                                                {"sessions", "Sessions"},
                                                {"inbox", "Inbox"},
                                                {"history", "History"},
                                                {"changes", "Changes"},
                                                {"doctor", "Doctor"}});

Html head(const View& view, std::string_view title) {
  const auto asset = [&](const Asset& of) { return std::string(view.root) + "assets/" + of.name; };
  Html html;
  html.raw("<!doctype html>\n<html lang=\"en\" class=\"no-script\" data-root=\"").text(view.root).raw("\">\n<head>\n");
  html.raw("<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>").text(title);
  html.raw(view.agent.empty() ? Markup("") : Markup(" · ")).text(view.agent).raw(" · ackbox</title>\n");
  html.raw("<link rel=\"icon\" href=\"").text(asset(icon())).raw("\">\n<link rel=\"stylesheet\" href=\"");
  html.text(asset(styleSheet())).raw("\">\n<script type=\"module\" src=\"").text(asset(script())).raw("\"></script>\n");
  return html.raw("</head>\n");
}

Html navigation(const View& view, std::string_view current) {
  Html html;
  html.raw("<nav aria-label=\"Views\"><ul>");
  for (const Entry& entry : kEntries) {
    html.raw("<li><a href=\"").text(view.root).text(entry.path).raw("\"");
    if (entry.path == current) {
      html.raw(" aria-current=\"page\"");
    }
    html.raw(">").text(entry.name).raw("</a></li>");
  }
  return html.raw("</ul></nav>");
}

Html badgeOf(std::string_view state, std::string_view word) {
  Html html;
  return html.raw("<span class=\"badge\" data-state=\"").text(state).raw("\">").text(word).raw("</span>");
}

/// `text` as one shell word, in single quotes.
std::string quotedForShell(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return quoted + "'";
}

}  // namespace

std::string document(const View& view, std::string_view title, std::string_view current, const Html& content) {
  Html html = head(view, title);
  html.raw(
          "<body>\n<a class=\"skip\" href=\"#main\">Skip to content</a>\n<header class=\"bar\"><a class=\"brand\" "
          "href=\"")
      .text(view.root)
      .raw("\">ackbox</a><span class=\"agent\" title=\"file: ")
      .text(view.file)
      .raw("\">")
      .add(breakable(view.agent))
      .raw("</span>")
      .add(navigation(view, current));
  html.raw("<form class=\"search\" method=\"get\" action=\"").text(view.root).raw("search\" role=\"search\">");
  html.raw(
      "<input type=\"search\" name=\"q\" aria-label=\"Search\" placeholder=\"Search\" autocomplete=\"off\"></form>");
  html.raw("<span class=\"live\" id=\"live\"></span>");
  if (view.hasLogin) {
    html.raw("<form class=\"logout\" method=\"post\" action=\"").text(view.root).raw("logout\">");
    html.raw("<button type=\"submit\" title=\"logged in as ").text(view.caller).raw(", with the roles ");
    html.text(view.roles.names(", ")).raw("\">").text(view.caller);
    html.raw(view.caller.empty() ? Markup("") : Markup(" · ")).raw("Log out</button></form>");
  }
  html.raw("</header>\n<p class=\"lost script\" id=\"lost\" role=\"alert\" hidden></p>\n");
  html.raw("<main id=\"main\" tabindex=\"-1\">\n").add(content);
  html.raw("</main>\n<footer>ackbox ").text(kVersion).raw(" · read at <time data-live=\"read\">");
  html.text(records::instantText(view.now)).raw("</time>");
  html.raw("</footer>\n<div id=\"toasts\" role=\"status\" aria-live=\"polite\"></div>\n</body>\n</html>\n");
  return html.str();
}

std::string bareDocument(const View& view, std::string_view title, const Html& content) {
  Html html = head(view, title);
  html.raw("<body class=\"bare\">\n<main id=\"main\">\n").add(content).raw("</main>\n</body>\n</html>\n");
  return html.str();
}

Html ago(WallTime now, std::optional<WallTime> instant) {
  Html html;
  if (!instant || *instant == WallTime{}) {
    return html.raw("<span class=\"none\">–</span>");
  }
  const auto stamp = std::chrono::duration_cast<std::chrono::milliseconds>(instant->time_since_epoch()).count();
  html.raw("<time data-at=\"").text(std::to_string(stamp)).raw("\" title=\"").text(records::instantText(*instant));
  return html.raw("\">").text(records::agoText(now, *instant)).raw("</time>");
}

Html badge(std::string_view state) {
  return badgeOf(state, state);
}

Html badge(MessageState state) {
  return badgeOf(records::nameOf(state), wordOf(state));
}

std::string wordOf(MessageState state) {
  return state == MessageState::failed ? "dead letter" : records::nameOf(state);
}

Html emptyNote(Markup what, Markup meaning) {
  Html html;
  return html.raw("<p class=\"empty\"><strong>").raw(what).raw("</strong>").raw(meaning).raw("</p>\n");
}

Html errorText(std::string_view text) {
  Html html;
  return text.empty() ? html : html.raw("<span class=\"error\">").text(text).raw("</span>");
}

Html command(Markup id, std::string_view text) {
  Html html;
  html.raw("<pre class=\"data command\" id=\"").raw(id).raw("\">").text(text).raw("</pre>\n<button type=\"button\" ");
  return html.raw("class=\"act script\" data-copy=\"").raw(id).raw("\">Copy</button>");
}

Html enqueueCommand(const View& view, std::string_view json) {
  return command("curl", std::string("curl \"$ACKBOX_URL/v1/messages\" -H 'Content-Type: application/json'") +
                             (view.hasLogin ? " -H \"Authorization: Bearer $ACKBOX_TOKEN\"" : "") + " -d " +
                             quotedForShell(json));
}

Html breakable(std::string_view text) {
  constexpr std::size_t kShort = 24;
  constexpr std::string_view kMarks = "./:_-?&=@";
  Html html;
  if (text.size() <= kShort) {
    return html.text(text);
  }
  html.raw("<span class=\"long\">");
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of(kMarks), text.size() - 1) + 1;
    html.text(text.substr(0, length)).raw("<wbr>");
    text.remove_prefix(length);
  }
  return html.raw("</span>");
}

Html beneath(const Html& content) {
  Html html;
  return content.str().empty() ? html : html.raw("<span class=\"also\">").add(content).raw("</span>");
}

Html link(const View& view, const std::string& target, std::string_view text) {
  Html html;
  return html.raw("<a href=\"").text(view.root).text(target).raw("\">").add(breakable(text)).raw("</a>");
}

Html messageLink(const View& view, std::string_view messageId) {
  // The length of ids that ackbox generates.
  constexpr std::size_t kMadeLength = 36;
  Html html;
  html.raw("<a class=\"id").raw(messageId.size() <= kMadeLength ? Markup(" made") : Markup("")).raw("\" href=\"");
  html.text(view.root).raw("messages/").text(percentEncoded(messageId)).raw("\">");
  return html.text(messageId).raw("</a>");
}

Html action(const View& view, std::string_view label, const std::string& target) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<button type=\"button\" class=\"act\" data-post=\"").text(target).raw("\">").text(label);
  return html.raw("</button>");
}

Html testAction(const View& view, const std::string& peer) {
  Html html;
  if (!view.maySend()) {
    return html;
  }
  html.raw("<button type=\"button\" class=\"act\" data-test=\"").text(peer);
  return html.raw("\" title=\"Its type is ackbox.test\">Send a test message</button>");
}

Html bulkActions(const View& view, std::string_view subject, const std::string& filter) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<span data-subject=\"").text(subject).raw("\" data-filter=\"").text(filter).raw("\">");
  html.raw("<button type=\"button\" class=\"act\" data-bulk=\"retry\">Retry…</button>");
  return html.raw("<button type=\"button\" class=\"act\" data-bulk=\"discard\">Discard…</button></span>");
}

Html markActions(const View& view, std::string_view subject, const std::string& filter) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<span data-subject=\"").text(subject).raw("\" data-filter=\"").text(filter).raw("\">");
  return html.raw("<button type=\"button\" class=\"act\" data-bulk=\"mark-failed\">Make dead letters…</button></span>");
}

Html inboxActions(const View& view, std::string_view subject, const std::string& choice, bool mayRun) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<span data-subject=\"").text(subject).raw("\" data-filter=\"").text(choice).raw("\">");
  if (mayRun) {
    html.raw("<button type=\"button\" class=\"act\" data-inbox=\"retry\">Run now</button>");
  }
  return html.raw("<button type=\"button\" class=\"act\" data-inbox=\"discard\">Discard…</button></span>");
}

Html deadLetterAction(const View& view, const std::string& messageId) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<button type=\"button\" class=\"act\" data-fail=\"").text(messageId);
  return html.raw("\">Make dead letter…</button>");
}

Html resendAction(const View& view, const std::string& messageId) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<button type=\"button\" class=\"act\" data-resend=\"").text(messageId);
  return html.raw("\">Send again…</button>");
}

Html removal(const View& view, std::string_view label, const std::string& target, std::string_view fate) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<button type=\"button\" class=\"act\" data-remove=\"").text(target).raw("\" data-fate=\"").text(fate);
  return html.raw("\">").text(label).raw("…</button>");
}

Html option(std::string_view value, std::string_view name, const std::string& chosen) {
  Html html;
  html.raw("<option value=\"").text(value).raw("\"");
  if (value == chosen) {
    html.raw(" selected");
  }
  return html.raw(">").text(name).raw("</option>");
}

Html textField(Markup label, Markup name, std::string_view value, Markup placeholder) {
  Html html;
  html.raw("<label>").raw(label).raw(" <input name=\"").raw(name).raw("\" value=\"").text(value);
  return html.raw("\" placeholder=\"").raw(placeholder).raw("\" autocomplete=\"off\"></label>\n");
}

std::string parameter(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : std::string(name) + "=" + percentEncoded(value) + "&";
}

Html pager(const View& view, const std::string& target, std::int64_t next, bool isFirst) {
  Html html;
  if (next == 0 && isFirst) {
    return html;
  }
  html.raw("<nav class=\"pager\" aria-label=\"Pages\">");
  if (!isFirst) {
    html.add(link(view, target.substr(0, target.find_last_of("?&")), "From the beginning"));
  }
  if (next != 0) {
    html.add(link(view, target + std::to_string(next), "Next page"));
  }
  return html.raw("</nav>\n");
}

CardTable::CardTable(std::string_view caption, std::vector<std::string> heads, bool isQuiet)
    : caption_(caption), heads_(std::move(heads)), isQuiet_(isQuiet) {}

CardTable& CardTable::cell(const Html& content) {
  const std::size_t column = cells_++ % heads_.size();
  std::string_view name = heads_[column];
  if (column == 0) {
    rows_.raw("<tr role=\"row\">");
  }
  const bool isNumber = name.starts_with('#');
  name.remove_prefix(isNumber ? 1 : 0);
  rows_.raw("<td role=\"cell\" data-label=\"").text(name).raw("\"");
  if (isNumber) {
    rows_.raw(" class=\"number\"");
  }
  rows_.raw("><div>").add(content).raw("</div></td>");
  if (column + 1 == heads_.size()) {
    rows_.raw("</tr>\n");
  }
  return *this;
}

Html CardTable::html() const {
  Html html;
  html.raw("<div class=\"scroll\"><table role=\"table\"><caption class=\"")
      .text(isQuiet_ ? "quiet" : "")
      .raw("\">")
      .text(caption_)
      .raw("</caption><thead role=\"rowgroup\"><tr role=\"row\">");
  for (std::string_view name : heads_) {
    const bool isNumber = name.starts_with('#');
    name.remove_prefix(isNumber ? 1 : 0);
    html.raw("<th role=\"columnheader\" scope=\"col\"");
    if (isNumber) {
      html.raw(" class=\"number\"");
    }
    html.raw(">").text(name).raw("</th>");
  }
  html.raw("</tr></thead><tbody role=\"rowgroup\">\n").add(rows_);
  return html.raw("</tbody></table></div>\n");
}

std::string upperFirst(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

}  // namespace ackbox::serve::page
