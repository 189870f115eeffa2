#include <algorithm>

#include "serve/page/views.hpp"

#include "base/hex.hpp"
#include "records/peer.hpp"

namespace ackbox::serve::page {
namespace {

Html holdAction(const View& view, const records::PeerFigures& peer) {
  const std::string target = "peers/" + percentEncoded(peer.figures.peer);
  return peer.circuit.state == PeerState::paused ? action(view, "Resume", target + ":resume")
                                                 : action(view, "Pause", target + ":pause");
}

/// Last, so that no other button takes its place when the peer is up again.
Html probeAction(const View& view, const records::PeerFigures& peer) {
  const bool isAway = peer.circuit.state != PeerState::up && peer.circuit.state != PeerState::paused;
  return isAway ? action(view, "Try again now", "peers/" + percentEncoded(peer.figures.peer) + ":resume") : Html();
}

/// The form that adds a peer to the file.
Html additionOf(const View& view) {
  Html html;
  if (!view.mayOperate()) {
    return html;
  }
  html.raw("<details class=\"script\"><summary>Add a peer</summary>\n<form class=\"edit\" data-put=\"peers/\">\n");
  html.raw("<div class=\"filters\">").add(textField("Name", "name", "", "such as bob"));
  html.add(textField("Address", "url", "", "https://carol.example.com/inbox"));
  html.add(textField("Agent", "agent", "", "such as urn:agent:bob"));
  html.raw("<label>Profile <select name=\"profile\">").add(option("", "ackbox", ""));
  html.add(option("webhook", "webhook", "")).raw("</select></label>\n");
  return html.add(textField("Messages a second, at most", "rate", "", "no limit"))
      .raw(
          "<button type=\"submit\" class=\"primary\">"
          "Add</button></div>\n<p>Secrets, headers and further limits: add the "
          "peer, and change its definition in its view.</p></form></details>\n");
}

}  // namespace

std::string_view stateOf(const records::PeerFigures& peer) {
  return peer.circuit.isRemoved ? "removed" : toString(peer.circuit.state);
}

Html peerActions(const View& view, const records::PeerFigures& peer) {
  if (peer.circuit.isRemoved) {
    return {};
  }
  return holdAction(view, peer).add(testAction(view, peer.figures.peer)).add(probeAction(view, peer));
}

Html deadLink(const View& view, const records::PeerFigures& peer) {
  return peer.figures.failed == 0
             ? Html().raw("0")
             : link(view, "dead-letters?peer=" + percentEncoded(peer.figures.peer), grouped(peer.figures.failed));
}

Html circuitInstants(const View& view, const PeerStatus& peer) {
  Html html;
  if (peer.isRemoved) {
    return html;
  }
  if (peer.since != WallTime{}) {
    html.add(beneath(Html().raw("began ").add(ago(view.now, peer.since))));
  }
  if ((peer.state == PeerState::down || peer.state == PeerState::held) && peer.nextProbeAt > view.now) {
    html.add(beneath(Html().raw("asked again ").add(ago(view.now, peer.nextProbeAt))));
  }
  return html;
}

void sortByNeed(std::vector<records::PeerFigures>& peers) {
  std::ranges::stable_sort(peers, [](const records::PeerFigures& left, const records::PeerFigures& right) {
    return std::pair(left.circuit.state == PeerState::up, left.figures.peer) <
           std::pair(right.circuit.state == PeerState::up, right.figures.peer);
  });
}

Html peersView(const View& view, std::vector<records::PeerFigures> peers) {
  Html html;
  html.raw("<h1>Peers</h1>\n<div data-live=\"list\">\n");
  if (peers.empty()) {
    return html
        .add(emptyNote("There are no peers.",
                       "Name them as <code>peers</code> in the daemon's configuration: a name and a "
                       "URL for each. Or add them here, with the role operate."))
        .raw("</div>\n")
        .add(additionOf(view));
  }
  // A row must not move while somebody aims at its buttons.
  std::ranges::sort(peers, {}, [](const records::PeerFigures& peer) { return peer.figures.peer; });
  CardTable table("Peers", {"Peer", "State", "#Pending", "#Dead letters", "Last error", "Actions"}, true);
  for (const records::PeerFigures& peer : peers) {
    table.cell(link(view, "peers/" + percentEncoded(peer.figures.peer), peer.figures.peer))
        .cell(badge(stateOf(peer)).add(circuitInstants(view, peer.circuit)))
        .number(peer.figures.pending)
        .cell(deadLink(view, peer))
        .cell(errorText(peer.figures.lastError))
        .cell(peerActions(view, peer));
  }
  return html.add(table.html()).raw("</div>\n").add(additionOf(view));
}

}  // namespace ackbox::serve::page
