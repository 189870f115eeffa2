#include <algorithm>

#include "serve/page/views.hpp"

#include "base/hex.hpp"
#include "records/peer.hpp"

namespace ackbox::serve::page {
namespace {

Html actionsFor(const View& view, const records::PeerFigures& peer) {
  const std::string target = "peers/" + percentEncoded(peer.figures.peer);
  switch (peer.circuit.state) {
    case PeerState::up:
      return action(view, "Pause", target + ":pause");
    case PeerState::paused:
      return action(view, "Resume", target + ":resume");
    case PeerState::down:
    case PeerState::held:
    case PeerState::disabled:
      break;
  }
  Html html = action(view, "Probe now", target + ":resume");
  return html.add(action(view, "Pause", target + ":pause"));
}

/// When the state began, and when the next probe is sent.
Html circuitInstants(const View& view, const PeerStatus& peer) {
  Html html;
  if (peer.since != WallTime{}) {
    html.add(beneath(Html().raw("since ").add(ago(view.now, peer.since))));
  }
  if ((peer.state == PeerState::down || peer.state == PeerState::held) && peer.nextProbeAt > view.now) {
    html.add(beneath(Html().raw("asked again ").add(ago(view.now, peer.nextProbeAt))));
  }
  return html;
}

}  // namespace

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
                       "URL for each."))
        .raw("</div>\n");
  }
  sortByNeed(peers);
  CardTable table("Peers", {"Peer", "State", "#Pending", "#Dead", "Last error", "Actions"}, true);
  for (const records::PeerFigures& peer : peers) {
    Html dead;
    if (peer.figures.failed == 0) {
      dead.raw("0");
    } else {
      dead.add(
          link(view, "messages?state=failed&peer=" + percentEncoded(peer.figures.peer), grouped(peer.figures.failed)));
    }
    table.cell(link(view, "messages?peer=" + percentEncoded(peer.figures.peer), peer.figures.peer))
        .cell(badge(toString(peer.circuit.state)).add(circuitInstants(view, peer.circuit)))
        .number(peer.figures.pending)
        .cell(dead)
        .cell(errorText(peer.figures.lastError))
        .cell(actionsFor(view, peer).add(testAction(view, peer.figures.peer)));
  }
  return html.add(table.html()).raw("</div>\n");
}

}  // namespace ackbox::serve::page
