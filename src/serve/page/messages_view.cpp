#include <array>

#include "json/line.hpp"
#include "records/message.hpp"
#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

struct Span {
  std::string_view value;
  std::string_view name;
};
constexpr auto kSpans =
    std::to_array<Span>({{"", "any time"}, {"1h", "the last hour"}, {"24h", "the last day"}, {"7d", "the last week"}});

std::string addressOf(const MessageList& list) {
  return "messages?" + parameter("state", list.state) + parameter("peer", list.peer) +
         parameter("session", list.session) + parameter("type", list.type) + parameter("text", list.text) +
         parameter("within", list.within) + parameter("order", list.isOldestFirst ? "oldest" : "") + "after=";
}

Html filters(const View& view, const MessageList& list) {
  Html html;
  html.raw("<form class=\"filters\" method=\"get\" action=\"").text(view.root).raw("messages\">\n");
  html.raw("<label>State <select name=\"state\">").add(option("", "any", list.state));
  for (const MessageState state :
       {MessageState::pending, MessageState::sending, MessageState::sent, MessageState::acked, MessageState::failed}) {
    html.add(option(records::nameOf(state), wordOf(state), list.state));
  }
  html.raw("</select></label>\n<label>Peer <select name=\"peer\">").add(option("", "any", list.peer));
  for (const std::string& peer : list.peers) {
    html.add(option(peer, peer, list.peer));
  }
  html.raw("</select></label>\n")
      .add(textField("Session, exactly", "session", list.session))
      .add(textField("Type, exactly", "type", list.type))
      .add(textField("A part of the error", "text", list.text))
      .raw("<label>Enqueued ");
  html.raw("<select name=\"within\">");
  for (const Span& span : kSpans) {
    html.add(option(span.value, span.name, list.within));
  }
  html.raw("</select></label>\n<label>Order <select name=\"order\">");
  const std::string order = list.isOldestFirst ? "oldest" : "";
  html.add(option("", "newest first", order)).add(option("oldest", "oldest first", order));
  return html.raw("</select></label>\n<button type=\"submit\">Show</button></form>\n");
}

bool isFiltered(const MessageList& list) {
  return !list.state.empty() || !list.peer.empty() || !list.session.empty() || !list.type.empty() ||
         !list.text.empty() || !list.within.empty();
}

/// An action on all messages of the list, on other pages too; nothing where they cannot be chosen by these filters.
Html actionOnAll(const View& view, const MessageList& list) {
  const bool isWaiting =
      list.state == records::nameOf(MessageState::pending) || list.state == records::nameOf(MessageState::sent);
  if (!isWaiting || !list.text.empty() || !list.within.empty()) {
    return {};
  }
  json::Line filter;
  std::string subject = "in the state " + list.state;
  filter.add("state", list.state);
  const auto add = [&](const char* name, const char* words, const std::string& value) {
    if (!value.empty()) {
      filter.add(name, value);
      subject += words + value;
    }
  };
  add("peer", ", to ", list.peer);
  add("session", ", in session ", list.session);
  add("type", ", of type ", list.type);
  return Html().raw("<p>").add(markActions(view, subject, filter.text())).raw("</p>\n");
}

}  // namespace

Html messageTable(const View& view, std::string_view caption, const std::vector<MessageInfo>& messages) {
  CardTable table(caption, {"Message", "State", "Peer and session", "Enqueued", "#Retries", "Why"}, true);
  for (const MessageInfo& message : messages) {
    Html session;
    if (message.sequence != 0) {
      session.add(breakable(message.session)).raw(" · ").number(message.sequence);
    }
    table.cell(messageLink(view, message.messageId).add(beneath(breakable(message.type))))
        .cell(badge(message.state))
        .cell(breakable(message.peer).add(beneath(session)))
        .cell(ago(view.now, message.enqueuedAt))
        .number(message.retryCount)
        .cell(errorText(records::joined(message.reason, message.lastError)));
  }
  return table.html();
}

Html messagesView(const View& view, const MessageList& list) {
  Html html;
  html.raw("<h1>Messages</h1>\n").add(filters(view, list)).raw("<div data-live=\"list\">\n");
  if (list.page.messages.empty()) {
    html.add(list.page.next != 0
                 ? emptyNote("None of these messages matches.", "A page reads 10,000 messages: go on to the next.")
             : !list.isFirst ? emptyNote("No further message fits.", "The list ends here.")
             : isFiltered(list)
                 ? emptyNote("No message fits.", "Choose another state, peer, session, type, error or time.")
                 : emptyNote("The outbox is empty.",
                             "Messages that were acknowledged are kept for "
                             "<code>acked_retention</code>."));
  } else {
    html.add(actionOnAll(view, list));
    html.add(messageTable(view, list.isOldestFirst ? "Messages, oldest first" : "Messages, newest first",
                          list.page.messages));
    if (list.isShort) {
      html.raw("<p>A page reads 10,000 messages. More that match may be on the next one.</p>\n");
    }
  }
  return html.add(pager(view, addressOf(list), list.page.next, list.isFirst)).raw("</div>\n");
}

}  // namespace ackbox::serve::page
