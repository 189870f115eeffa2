#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

Html actionsFor(const View& view, const cli::PeerFigures& peer) {
  const std::string target = "peers/" + urlEncoded(peer.figures.peer);
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

}  // namespace

Html peersView(const View& view, const std::vector<cli::PeerFigures>& peers) {
  Html html;
  html.raw("<h1>Peers</h1>\n<div data-live=\"list\">\n");
  if (peers.empty()) {
    return html.raw("<p class=\"empty\">No peer is configured, and the file knows none.</p></div>\n");
  }
  CardTable table("Peers", {"Peer", "State", "Since", "Next probe", "#Pending", "#Dead", "Last error", "Actions"},
                  true);
  for (const cli::PeerFigures& peer : peers) {
    const bool isProbed = peer.circuit.state == PeerState::down || peer.circuit.state == PeerState::held;
    Html dead;
    if (peer.figures.failed == 0) {
      dead.raw("0");
    } else {
      dead.add(link(view, "messages?state=failed&peer=" + urlEncoded(peer.figures.peer), grouped(peer.figures.failed)));
    }
    table.cell(link(view, "messages?peer=" + urlEncoded(peer.figures.peer), peer.figures.peer))
        .cell(badge(toString(peer.circuit.state)))
        .cell(ago(view.now, peer.circuit.since))
        .cell(ago(view.now, isProbed ? std::optional(peer.circuit.nextProbeAt) : std::nullopt))
        .number(peer.figures.pending)
        .cell(dead)
        .cell(Html().raw("<span class=\"error\">").text(peer.figures.lastError).raw("</span>"))
        .cell(actionsFor(view, peer));
  }
  return html.add(table.html()).raw("</div>\n");
}

}  // namespace ackbox::serve::page
