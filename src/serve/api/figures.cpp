// Figures and lists: `GET /v1/stats`, `/v1/peers`, `/v1/sessions`, `/v1/inbox`. Each item is as `--json` prints it; of
// a frame also what this process knows alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/inbox.hpp"
#include "json/line.hpp"
#include "records/inbox_frame.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"
#include "serve/api/figures.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {}  // namespace

// The manager's own figures, which know the latencies of this process.
std::string readFigures(Service& service) {
  std::string peers = "[";
  for (const records::PeerFigures& peer : records::readPeers(service.reader())) {
    peers += (peers.size() == 1 ? "" : ",") + records::lineOf(peer).text();
  }
  json::Line line = records::lineOf(service.manager().getStats(), service.reader().processIds());
  return line.raw("peers", peers + "]").text();
}

void showStats(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      [&service] {
        // The manager's own figures, which know the latencies of this process.
        return jsonAnswer(200, records::lineOf(service.manager().getStats(), service.reader().processIds()).text());
      },
      std::move(respond));
}

void listPeers(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      [&service] {
        std::vector<std::string> items;
        for (const records::PeerFigures& peer : records::readPeers(service.reader())) {
          items.push_back(records::lineOf(peer).text());
        }
        return pageAnswer("peers", items, 0);
      },
      std::move(respond));
}

void listSessions(Service& service, Request&& request, Respond&& respond) {
  SessionFilter filter;
  filter.peer = request.query.text("peer");
  filter.occupied = !request.query.flag("all");
  const PageWish wish = takePage(request.query);
  request.query.finish();
  service.workers().answer(
      [&service, filter = std::move(filter), wish] {
        const SessionPage page = service.reader().sessions(filter, wish.limit, wish.after);
        std::vector<std::string> items;
        for (const SessionStats& session : page.sessions) {
          items.push_back(records::lineOf(session).text());
        }
        return pageAnswer("sessions", items, page.next);
      },
      std::move(respond));
}

}  // namespace ackbox::serve
