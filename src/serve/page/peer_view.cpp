#include <string>

#include "base/hex.hpp"
#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

Html facts(const View& view, const records::PeerFigures& peer) {
  CardTable table("Figures", {"State", "#Pending", "#In flight", "#Deferred", "#Dead letters", "#Acknowledged"}, true);
  table.cell(badge(stateOf(peer)).add(circuitInstants(view, peer.circuit)))
      .number(peer.figures.pending)
      .number(peer.figures.sending)
      .number(peer.figures.sent)
      .cell(deadLink(view, peer))
      .number(peer.figures.acked);
  return table.html();
}

/// The definition of a peer that was added, to be changed; the words of where it stands if it is the configuration's.
Html definition(const View& view, const records::PeerFigures& peer, const std::string& url) {
  const std::string target = "peers/" + percentEncoded(peer.figures.peer);
  const std::string& text = peer.circuit.definition;
  Html html;
  if (peer.circuit.isRemoved) {
    return html.raw("<p>The peer was removed: nothing is sent to it. To add it again, use Add a peer.</p>\n");
  }
  html.raw("<h2>Definition</h2>\n");
  if (text.empty()) {
    html.raw(url.empty() ? Markup("") : Markup("<p>Its address is <code>")).text(url);
    html.raw(url.empty() ? Markup("") : Markup("</code>.</p>\n"));
    return html.raw("<p>The peer is in the daemon's configuration, and is changed there.</p>\n");
  }
  if (!view.mayOperate()) {
    return html.raw("<pre class=\"data\">").text(text).raw("</pre>\n");
  }
  html.raw("<form class=\"edit script\" data-put=\"")
      .text(target)
      .raw("\">\n<label>The fields of the peer, as in the ");
  html.raw("daemon's configuration <textarea name=\"definition\" rows=\"8\" spellcheck=\"false\">");
  html.text(text).raw(
      "</textarea></label>\n<div class=\"filters\"><button type=\"submit\" class=\"primary\">Change</button>");
  return html.add(removal(view, "Remove", target, "messages")).raw("</div></form>\n");
}

Html subscriptions(const View& view, const PeerPage& page) {
  Html html;
  if (page.peer.circuit.isRemoved) {
    return html;
  }
  html.raw(
      "<h2>Subscriptions</h2>\n<p>A subscriber gets what is published. A message that is enqueued for one peer goes ");
  html.raw("to that peer alone.</p>\n");
  if (page.subscriptions.empty()) {
    html.raw("<p>It gets nothing of what is published.</p>\n");
  } else {
    CardTable table("Subscriptions", {"Name", "Types", "Sessions", "Since", "Actions"}, true);
    for (const PeerSubscription& one : page.subscriptions) {
      table.text(one.name)
          .text(one.type)
          .text(one.session.empty() ? "any" : one.session)
          .cell(ago(view.now, one.since))
          .cell(removal(view, "End", "subscriptions/" + percentEncoded(one.name),
                        "Messages that are stored stay; what is published from now on does not come to this peer."));
    }
    html.add(table.html());
  }
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<form class=\"edit script\" data-put=\"subscriptions/\" data-peer=\"").text(page.peer.figures.peer);
  html.raw("\">\n<div class=\"filters\">").add(textField("Name", "name", "", "such as orders-of-bob"));
  html.add(textField("Types", "type", "*", "such as order.*")).add(textField("Sessions", "session", ""));
  return html.raw("<button type=\"submit\">Subscribe, or change</button></div></form>\n");
}

}  // namespace

Html peerView(const View& view, const PeerPage& page) {
  const records::PeerFigures& peer = page.peer;
  Html html;
  html.raw("<div data-live=\"peer\"><header class=\"title\"><h1>").add(breakable(peer.figures.peer)).raw("</h1>");
  html.raw("<span class=\"actions\">").add(peerActions(view, peer)).raw("</span></header>\n").add(facts(view, peer));
  if (!peer.figures.lastError.empty()) {
    html.raw("<p class=\"lead\">Last error: ").add(errorText(peer.figures.lastError)).raw("</p>\n");
  }
  html.raw("<p>").add(link(view, "messages?peer=" + percentEncoded(peer.figures.peer), "Its messages"));
  return html.raw("</p></div>\n").add(definition(view, peer, page.url)).add(subscriptions(view, page));
}

}  // namespace ackbox::serve::page
