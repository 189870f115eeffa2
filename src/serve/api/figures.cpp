// Figures and lists: `GET /v1/stats`, `/v1/peers`, `/v1/sessions`. Each item has the form that `--json` prints.

#include <string>
#include <utility>

#include "json/line.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"
#include "serve/api/figures.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {

// Uses the manager's figures, which include the latencies of this process.
std::string readFigures(Service& service) {
  json::Line line = records::lineOf(service.manager().getStats(), service.reader().processIds());
  return line.raw("peers", records::listOf(records::readPeers(service.reader()))).text();
}

void showStats(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      request.sharer(),
      [&service] {
        // The manager's figures include the latencies of this process.
        return jsonAnswer(200, records::lineOf(service.manager().getStats(), service.reader().processIds()).text());
      },
      std::move(respond));
}

void listPeers(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      request.sharer(),
      [&service, limits = request.caller.limits] {
        std::vector<records::PeerFigures> peers = records::readPeers(service.reader());
        std::erase_if(peers, [&](const records::PeerFigures& one) { return !limits.hasPeer(one.figures.peer); });
        return pageAnswer("peers", records::listOf(peers), 0);
      },
      std::move(respond));
}

void listSessions(Service& service, Request&& request, Respond&& respond) {
  SessionFilter filter;
  filter.peer = request.query.text("peer");
  filter.occupied = !request.query.flag("all");
  const PageWish wish = takePage(request.query);
  request.query.finish();
  limitPeer(request, filter.peer);
  service.workers().answer(
      request.sharer(),
      [&service, filter = std::move(filter), wish] {
        const SessionPage page = service.reader().sessions(filter, wish.limit, wish.after);
        return pageAnswer("sessions", records::listOf(page.sessions), page.next);
      },
      std::move(respond));
}

}  // namespace ackbox::serve
