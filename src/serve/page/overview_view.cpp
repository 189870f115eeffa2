#include "cli/text.hpp"
#include "serve/page/health_sentence.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

/// A figure that the script keeps up to date: `name` is its member in `/v1/stats`.
Html figure(const View& view, Markup label, Markup name, std::uint64_t count, const std::string& target) {
  Html html;
  html.raw("<a class=\"figure\" href=\"").text(view.root).text(target).raw("\"><span class=\"label\">").raw(label);
  html.raw("</span><span class=\"value\" data-figure=\"").raw(name).raw("\">").number(count);
  return html.raw("</span></a>\n");
}

Html rate(Markup label, Markup name, std::uint64_t total) {
  Html html;
  html.raw("<div class=\"rate\"><span class=\"label\">").raw(label).raw("</span><span class=\"value\"><b data-rate=\"");
  html.raw(name).raw("\">–</b><span class=\"unit\"> / s</span></span><span class=\"total\"><span data-figure=\"");
  return html.raw(name).raw("\">").number(total).raw("</span> in all</span></div>\n");
}

Html oldest(const View& view, const Stats& stats) {
  Html html;
  html.raw("<section class=\"hero\"><h1>Oldest message waits</h1><p class=\"big\" data-oldest=\"");
  if (!stats.oldestPendingAt) {
    return html.raw("\">nothing waits</p></section>\n");
  }
  const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(stats.oldestPendingAt->time_since_epoch());
  html.text(std::to_string(at.count())).raw("\">").text(cli::durationText(view.now - *stats.oldestPendingAt));
  return html.raw("</p></section>\n");
}

}  // namespace

Html overviewView(const View& view, const Overview& overview) {
  const Stats& stats = overview.stats;
  const HealthSentence health = healthOf(stats, overview.peers, overview.blockedSessions, view.now);
  Html html;
  html.raw("<div data-live=\"health\"><p class=\"health\" data-level=\"").text(health.level).raw("\">");
  if (health.view.empty()) {
    html.text(health.text);
  } else {
    html.add(link(view, std::string(health.view), health.text));
  }
  html.raw("</p></div>\n").add(oldest(view, stats)).raw("<section class=\"figures\" aria-label=\"Figures\">\n");
  html.add(figure(view, "Pending", "pending", stats.pending, "messages?state=pending"))
      .add(figure(view, "In flight", "sending", stats.sending, "messages?state=sending"))
      .add(figure(view, "Deferred", "sent", stats.sent, "messages?state=sent"))
      .add(figure(view, "Dead", "failed", stats.failed, "dead-letters"));
  html.raw("</section>\n<section class=\"flow\" aria-label=\"Rates\"><div class=\"rates\">\n")
      .add(rate("Enqueued", "enqueued_total", stats.enqueued))
      .add(rate("Acknowledged", "acked_total", stats.acked))
      .add(rate("Retried", "retries_total", stats.totalRetries));
  html.raw(
      "</div><svg id=\"sparkline\" class=\"script\" viewBox=\"0 0 600 90\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"Messages acknowledged a second, over the last two minutes\"><path class=\"area\"/>"
      "<path class=\"line second\"/><path class=\"line\"/></svg><p class=\"legend script\"><span class=\"key "
      "acked\">acknowledged</span><span class=\"key enqueued\">enqueued</span><span class=\"scale\" "
      "id=\"scale\">the last two minutes</span></p></section>\n<div data-live=\"peers\">");
  if (!overview.peers.empty()) {
    CardTable table("Peers", {"Peer", "State", "Since", "#Pending", "#Dead", "#Acknowledged"});
    for (const cli::PeerFigures& peer : overview.peers) {
      table.cell(link(view, "messages?peer=" + urlEncoded(peer.figures.peer), peer.figures.peer))
          .cell(badge(toString(peer.circuit.state)))
          .cell(ago(view.now, peer.circuit.since))
          .number(peer.figures.pending)
          .number(peer.figures.failed)
          .number(peer.figures.acked);
    }
    html.add(table.html());
  }
  return html.raw("</div>\n");
}

}  // namespace ackbox::serve::page
