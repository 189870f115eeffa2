#include <string>

#include "base/hex.hpp"

#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

Html searchForm(const View& view, const std::string& text) {
  Html html;
  html.raw("<form class=\"filters\" method=\"get\" action=\"")
      .text(view.root)
      .raw("search\" role=\"search\" aria-label=\"By id, session, type or error\">\n");
  html.raw("<label>Id, session, type or part of an error <input type=\"search\" name=\"q\" value=\"").text(text);
  return html.raw("\" autocomplete=\"off\"></label>\n<button type=\"submit\">Search</button></form>\n");
}

/// A heading and a table, with a link to the whole list; nothing if there are no messages.
Html section(const View& view, Markup heading, const std::vector<MessageInfo>& messages, bool isMore,
             const std::string& target) {
  Html html;
  if (messages.empty()) {
    return html;
  }
  html.raw("<h2>").raw(heading).raw("</h2>\n").add(messageTable(view, heading.text(), messages));
  if (isMore && !target.empty()) {
    html.raw("<p>").add(link(view, target, "All of them")).raw("</p>\n");
  }
  return html;
}

}  // namespace

Html searchView(const View& view, const SearchResult& result) {
  Html html;
  html.raw("<h1>Search</h1>\n").add(searchForm(view, result.text)).raw("<div data-live=\"list\">\n");
  if (result.text.empty()) {
    return html
        .add(emptyNote("What do you look for?", "The whole id, session or type; or a part of a dead letter's error."))
        .raw("</div>\n");
  }
  Html found;
  if (result.message) {
    found.add(section(view, "The message with this id", {*result.message}, false, {}));
  }
  for (const std::string& source : result.frameSources) {
    found.raw("<p>A received frame of ").add(breakable(source)).raw(" has this id and is not done: ");
    found.add(link(view, "inbox", "Inbox")).raw(".</p>\n");
  }
  const std::string name = percentEncoded(result.text);
  found.add(section(view, "Messages of this session, newest first", result.ofSession.messages,
                    result.ofSession.next != 0, "messages?session=" + name));
  found.add(section(view, "Messages of this type, newest first", result.ofType.messages, result.ofType.next != 0,
                    "messages?type=" + name));
  found.add(section(view, "Dead letters with this in their error, oldest first", result.byError.messages,
                    result.byError.next != 0, "dead-letters"));
  if (found.str().empty()) {
    found.add(
        emptyNote("Nothing was found.",
                  "An acknowledged message is gone after <code>acked_retention</code>. Sessions and types are looked "
                  "for among the newest 10,000 messages."));
  }
  return html.add(found).raw("</div>\n");
}

}  // namespace ackbox::serve::page
