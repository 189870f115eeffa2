// Holds: pause and resume of peers and sessions, unblock.

#include <string>
#include <string_view>
#include <utility>

#include "json/line.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// Calls `change` with the operator and the names in the path; its result says whether it changed anything.
template <typename Change>
void hold(Service& service, Request&& request, Respond&& respond, std::string_view what, Change change) {
  request.query.finish();
  requirePeer(request, request.path[0]);
  const std::string sharer = request.sharer();
  service.workers().answer(
      sharer,
      [&service, request = std::move(request), what, change] {
        const bool changed = change(service.changes(), request.path);
        const std::string target = request.path.size() > 1 ? request.path[0] + "/" + request.path[1] : request.path[0];
        service.audit().record(request.caller, what, target, changed ? 1 : 0);
        return jsonAnswer(200, json::Line().add("changed", changed).text());
      },
      std::move(respond));
}

using Names = std::vector<std::string>;

}  // namespace

void pausePeer(Service& service, Request&& request, Respond&& respond) {
  hold(service, std::move(request), std::move(respond), "peers:pause",
       [](OutboxOperator& changes, const Names& names) { return changes.pause(names[0]); });
}

void resumePeer(Service& service, Request&& request, Respond&& respond) {
  hold(service, std::move(request), std::move(respond), "peers:resume",
       [](OutboxOperator& changes, const Names& names) { return changes.resume(names[0]); });
}

void pauseSession(Service& service, Request&& request, Respond&& respond) {
  hold(service, std::move(request), std::move(respond), "sessions:pause",
       [](OutboxOperator& changes, const Names& names) { return changes.pause(names[0], names[1]); });
}

void resumeSession(Service& service, Request&& request, Respond&& respond) {
  hold(service, std::move(request), std::move(respond), "sessions:resume",
       [](OutboxOperator& changes, const Names& names) { return changes.resume(names[0], names[1]); });
}

void unblockSession(Service& service, Request&& request, Respond&& respond) {
  hold(service, std::move(request), std::move(respond), "sessions:unblock",
       [](OutboxOperator& changes, const Names& names) { return changes.unblock(names[0], names[1]); });
}

}  // namespace ackbox::serve
