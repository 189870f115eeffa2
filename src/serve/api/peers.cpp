// Peers that are added at run time: `GET`, `PUT` and `DELETE` of `/v1/peers/{peer}`.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "base/nested_error.hpp"
#include "json/line.hpp"
#include "records/peer.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/config/config.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// Which other peer leads to the same receiver; empty if there is no such peer.
std::string collisionOf(Service& service, const PeerOptions& peer) {
  const auto bare = [](PeerOptions one) {
    one.secrets = {};
    one.headers = {};
    return one;
  };
  std::vector<PeerOptions> all;
  for (const PeerOptions& one : service.config().outbox.peers) {
    all.push_back(bare(one));
  }
  for (const PeerStatus& one : service.reader().peers()) {
    if (!one.definition.empty() && !one.isRemoved && one.name != peer.name) {
      try {
        all.push_back(bare(definedPeer(one.name, one.definition, service.config())));
      } catch (const Error&) {
        // It cannot be used, so it leads nowhere.
      }
    }
  }
  std::erase_if(all, [&](const PeerOptions& one) { return one.url != peer.url || one.name == peer.name; });
  all.push_back(bare(peer));
  try {
    HttpSender(service.config().sender).usePeers(all);
  } catch (const OptionError& error) {
    return circumstancesOf(error);
  }
  return {};
}

Response definedPeer(Service& service, const Request& request) {
  const std::string& name = request.path[0];
  std::vector<ConfigProblem> problems;
  const PeerOptions peer = readPeerDefinition(name, request.body, service.config(), true, problems);
  if (!problems.empty()) {
    std::string text;
    for (const ConfigProblem& problem : problems) {
      text += (text.empty() ? "" : "\n") + describe(problem, "definition");
    }
    return problemAnswer(422, "Invalid definition", text);
  }
  if (const std::string other = collisionOf(service, peer); !other.empty()) {
    return problemAnswer(422, "Invalid definition", other);
  }
  const bool isNew = service.changes().addPeer(peer, withoutComments(request.body));
  service.audit().record(request.caller, isNew ? "peers:add" : "peers:change", name, 1);
  return jsonAnswer(isNew ? 201 : 200, json::Line().add("peer", name).add("added", isNew).text());
}

Response removedPeer(Service& service, const Request& request, WaitingMessages waiting) {
  const std::string& name = request.path[0];
  PeerRemoval removal;
  try {
    removal = service.changes().removePeer(name, waiting);
  } catch (const Error& error) {
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
    return problemAnswer(404, "Not found", "no peer '" + name + "' was added; a peer of the configuration stays");
  }
  if (waiting == WaitingMessages::refuse && removal.left != 0) {
    return problemAnswer(409, "The peer has messages",
                         "messages to it that are not settled: " + std::to_string(removal.left) +
                             ". Wait until they are, or use ?messages=fail, which makes them dead letters");
  }
  service.audit().record(request.caller, "peers:remove", name, removal.failed);
  return jsonAnswer(200, json::Line()
                             .add("peer", name)
                             .add("removed", true)
                             .add("failed", removal.failed)
                             .add("left", removal.left)
                             .add("subscriptions", removal.subscriptions)
                             .text());
}

}  // namespace

void showPeer(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  requirePeer(request, request.path[0]);
  service.workers().answer(
      request.sharer(),
      [&service, name = request.path[0]] {
        const std::vector<records::PeerFigures> peers = records::readPeers(service.reader());
        const auto found =
            std::ranges::find_if(peers, [&](const records::PeerFigures& one) { return one.figures.peer == name; });
        if (found == peers.end()) {
          return failureAnswer(Errc::unknownPeer, "the outbox has no peer '" + name + "'");
        }
        // The file is not trusted to hold JSON.
        const std::string& text = found->circuit.definition;
        const bool isJson = !text.empty() && nlohmann::json::accept(text);
        json::Line line;
        line.raw("peer", records::lineOf(*found).text()).raw("definition", isJson ? text : "null");
        return jsonAnswer(200, line.text());
      },
      std::move(respond));
}

void definePeer(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::string sharer = request.sharer();
  service.workers().answer(
      sharer, [&service, request = std::move(request)] { return definedPeer(service, request); }, std::move(respond));
}

void removePeer(Service& service, Request&& request, Respond&& respond) {
  const std::string what = request.query.text("messages").value_or("refuse");
  request.query.finish();
  if (what != "refuse" && what != "fail") {
    respond(problemAnswer(422, "Invalid request", "messages must be refuse or fail"));
    return;
  }
  const WaitingMessages waiting = what == "fail" ? WaitingMessages::fail : WaitingMessages::refuse;
  const std::string sharer = request.sharer();
  service.workers().answer(
      sharer, [&service, request = std::move(request), waiting] { return removedPeer(service, request, waiting); },
      std::move(respond));
}

}  // namespace ackbox::serve
