#include <string>

#include "base/hex.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

Html searchForm(const View& view, const std::string& text) {
  Html html;
  html.raw("<form class=\"filters\" method=\"get\" action=\"")
      .text(view.root)
      .raw("search\" role=\"search\" aria-label=\"By id, key, session, type or error\">\n");
  html.raw("<label>Id, key, session or type, or a part of an error <input type=\"search\" name=\"q\" value=\"");
  return html.text(text).raw("\" autocomplete=\"off\"></label>\n<button type=\"submit\">Search</button></form>\n");
}

/// A heading and a table, with a link to the list from there on; nothing if there are no messages.
Html section(const View& view, Markup heading, const MessagePage& page, const std::string& target) {
  Html html;
  if (page.messages.empty()) {
    return html;
  }
  html.raw("<h2>").raw(heading).raw("</h2>\n").add(messageTable(view, heading.text(), page.messages));
  if (page.next != 0) {
    html.raw("<p>").add(link(view, target, "Go on in the list")).raw("</p>\n");
  }
  return html;
}

Html ofKey(const View& view, const SearchResult& result) {
  Html html = section(view, "Enqueued with this idempotency key", {result.ofKey, 0}, {});
  if (result.keyIds.size() > result.ofKey.size()) {
    html.raw("<p>").number(result.keyIds.size() - result.ofKey.size());
    html.raw(" enqueued with this key and not here any more: acknowledged, or discarded.</p>\n");
  }
  return html;
}

Html ofInbox(const View& view, const SearchResult& result, const std::string& name) {
  Html html;
  if (!result.ended.empty()) {
    html.raw("<h2>Received, and ended</h2>\n").add(frameTable(view, "Ended frames", result.ended, result.waits));
  }
  if (result.frames.frames.empty()) {
    return html;
  }
  html.raw("<h2>Received frames, oldest first</h2>\n");
  html.add(frameTable(view, "Received frames", result.frames.frames, result.waits));
  if (result.frames.next != 0) {
    html.raw("<p>").add(link(view, "inbox?text=" + name, "Go on in the list")).raw("</p>\n");
  }
  return html;
}

/// Which parts of the file were not looked at; nothing if all were.
Html limits(const View& view, const SearchResult& result, const std::string& name) {
  Html html;
  if (result.messages.next == 0 && result.dead.next == 0 && result.frames.next == 0) {
    return html;
  }
  html.raw("<p>The search stopped early. By session, type and error it reads the newest 10,000 messages, the newest ");
  html.raw("10,000 dead letters and the oldest 10,000 received frames. Go on in ");
  html.add(link(view, "messages?text=" + name, "Messages")).raw(" or ");
  return html.add(link(view, "inbox?text=" + name, "Inbox")).raw(".</p>\n");
}

}  // namespace

Html searchView(const View& view, const SearchResult& result) {
  Html html;
  html.raw("<h1>Search</h1>\n").add(searchForm(view, result.text)).raw("<div data-live=\"list\">\n");
  if (result.text.empty()) {
    return html
        .add(emptyNote("What do you look for?",
                       "The whole id, idempotency key, session or type; or a part of an error."))
        .raw("</div>\n");
  }
  Html found;
  if (result.message) {
    found.add(section(view, "The message with this id", {{*result.message}, 0}, {}));
  }
  const std::string name = percentEncoded(result.text);
  found.add(ofKey(view, result));
  found.add(section(view, "Dead letters, newest first", result.dead, "messages?state=failed&text=" + name));
  found.add(section(view, "Messages, newest first", result.messages, "messages?text=" + name));
  found.add(ofInbox(view, result, name));
  if (found.str().empty()) {
    found.add(emptyNote("Nothing was found.",
                        "Ids, keys, sessions, types and errors were looked for. An acknowledged message is gone after "
                        "<code>acked_retention</code>, its key after <code>idempotency_retention</code>, a "
                        "received frame when it is done; the outcome of a refused one is kept for a time."));
  }
  return html.add(found).add(limits(view, result, name)).raw("</div>\n");
}

}  // namespace ackbox::serve::page
