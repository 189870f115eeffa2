#include <algorithm>
#include <chrono>
#include <string>

#include "base/hex.hpp"
#include "json/line.hpp"
#include "records/peer.hpp"
#include "records/text.hpp"
#include "serve/page/health_sentence.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

/// A figure that the script updates: `name` is its member in `/v1/stats`.
Html figure(const View& view, Markup label, Markup name, std::uint64_t count, const std::string& target) {
  Html html;
  html.raw("<a class=\"figure\"").raw(count == 0 ? Markup(" data-zero") : Markup("")).raw(" href=\"").text(view.root);
  html.text(target).raw("\"><span class=\"label\">").raw(label);
  html.raw("</span><span class=\"value\" data-figure=\"").raw(name).raw("\">").number(count);
  return html.raw("</span></a>\n");
}

Html rate(Markup label, Markup name, std::uint64_t total) {
  Html html;
  html.raw("<div class=\"rate\"><span class=\"label\">").raw(label).raw("</span><span class=\"value\"><b data-rate=\"");
  html.raw(name).raw("\">–</b><span class=\"unit\"> / s</span></span><span class=\"total\"><span data-figure=\"");
  return html.raw(name).raw("\">").number(total).raw("</span> total</span></div>\n");
}

Html oldest(const View& view, const Stats& stats) {
  Html html;
  html.raw("<section class=\"hero\"><h1>Longest wait</h1><p class=\"big\"><time data-oldest=\"");
  if (!stats.oldestPendingAt) {
    return html.raw("\">none</time></p></section>\n");
  }
  const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(stats.oldestPendingAt->time_since_epoch());
  html.text(std::to_string(at.count())).raw("\" title=\"since ").text(records::instantText(*stats.oldestPendingAt));
  html.raw("\">").text(records::durationText(view.now - *stats.oldestPendingAt));
  return html.raw("</time></p></section>\n");
}

/// Instructions for an outbox that was never used.
Html firstSteps(const View& view, const std::vector<records::PeerFigures>& peers) {
  Html html;
  if (peers.empty()) {
    html.raw("<section class=\"start\"><h2>Name a peer</h2>\n<p>This outbox has no peer to send to. ");
    html.add(link(view, "peers", "Add one here"))
        .raw(", or add this to the daemon's configuration, and restart it:</p>\n");
    html.add(command("snippet", R"("peers": [{"name": "bob", "url": "https://address/inbox"}])"));
    return html.raw("</section>\n");
  }
  html.raw("<section class=\"start\"><h2>Send the first message</h2>\n");
  html.add(enqueueCommand(view, json::Line()
                                    .add("peer", peers.front().figures.peer)
                                    .add("session", "first")
                                    .add("type", "hello")
                                    .raw("data", "{}")
                                    .text()));
  return html.raw("</section>\n");
}

Html peersTable(const View& view, std::vector<records::PeerFigures> peers) {
  constexpr std::size_t kShown = 12;
  constexpr std::size_t kErrorBytes = 120;
  if (peers.empty()) {
    return {};
  }
  const std::size_t all = peers.size();
  sortByNeed(peers);
  peers.resize(std::min(all, kShown));
  CardTable table("Peers", {"Peer", "State", "Since", "Last error", "#Pending", "#Dead letters", "#Acknowledged"});
  for (const records::PeerFigures& peer : peers) {
    table.cell(link(view, "peers/" + percentEncoded(peer.figures.peer), peer.figures.peer))
        .cell(badge(stateOf(peer)))
        .cell(ago(view.now, peer.circuit.since))
        .cell(errorText(records::shortened(peer.figures.lastError, kErrorBytes)))
        .number(peer.figures.pending)
        .cell(deadLink(view, peer))
        .number(peer.figures.acked);
  }
  Html html = table.html();
  return all <= kShown ? html
                       : html.raw("<p>").add(link(view, "peers", "All " + grouped(all) + " peers")).raw("</p>\n");
}

/// The troubles of the process, and the problems of the messages and frames: the worst first.
std::vector<HealthSentence> healthOf(const View& view, const Overview& overview) {
  std::vector<HealthSentence> found;
  for (const records::Symptom& trouble : overview.troubles) {
    found.push_back({records::nameOf(trouble.weight), upperFirst(trouble.text) + ".", "doctor"});
  }
  for (HealthSentence& one :
       healthOf(overview.stats, overview.peers, overview.blockedSessions, overview.reception, view.now)) {
    if (found.empty() || one.level != "ok") {
      found.push_back(std::move(one));
    }
  }
  std::ranges::stable_sort(found, {}, [](const HealthSentence& one) { return one.level != "problem"; });
  return found;
}

Html healthList(const View& view, const std::vector<HealthSentence>& sentences) {
  Html html;
  html.raw("<ul class=\"health\" aria-label=\"Health\" data-level=\"").text(sentences.front().level).raw("\">");
  for (const HealthSentence& one : sentences) {
    html.raw("<li>");
    if (one.view.empty()) {
      html.text(one.text);
    } else {
      html.add(link(view, one.view, one.text));
    }
    html.raw("</li>\n");
  }
  return html.raw("</ul>\n");
}

}  // namespace

Html overviewView(const View& view, const Overview& overview) {
  const Stats& stats = overview.stats;
  Html html;
  html.raw("<div data-live=\"health\">").add(healthList(view, healthOf(view, overview)));
  html.raw("</div>\n").add(oldest(view, stats)).raw("<div data-live=\"start\">");
  if (stats.enqueued == 0 && stats.received == 0 && stats.deferred == 0) {
    html.add(firstSteps(view, overview.peers));
  }
  html.raw("</div>\n<section class=\"figures\" aria-label=\"Figures\">\n");
  html.add(figure(view, "Pending", "pending", stats.pending, "messages?state=pending"))
      .add(figure(view, "In flight", "sending", stats.sending, "messages?state=sending"))
      .add(figure(view, "Deferred by peers", "sent", stats.sent, "messages?state=sent"))
      .add(figure(view, "Dead letters", "failed", stats.failed, "dead-letters"))
      .add(figure(view, "Received, not done", "inbox", stats.inbox, "inbox"));
  html.raw("</section>\n<section class=\"flow\" aria-label=\"Rates\"><div class=\"rates\">\n")
      .add(rate("Enqueued", "enqueued_total", stats.enqueued))
      .add(rate("Acknowledged", "acked_total", stats.acked))
      .add(rate("Retried", "retries_total", stats.totalRetries));
  html.raw(
      "</div><svg id=\"sparkline\" class=\"script\" viewBox=\"0 0 600 90\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"Messages acknowledged a second, over the last two minutes\"><path class=\"base\" "
      "d=\"M0 88H600\"/><path class=\"area\"/><path class=\"line second\"/><path class=\"line\"/></svg>"
      "<p class=\"legend script\"><span class=\"key "
      "acked\">acknowledged</span><span class=\"key enqueued\">enqueued</span><span class=\"scale\" "
      "id=\"scale\">the last two minutes</span></p></section>\n<div data-live=\"peers\">");
  return html.add(peersTable(view, overview.peers)).raw("</div>\n");
}

}  // namespace ackbox::serve::page
