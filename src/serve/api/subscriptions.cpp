// The subscriptions of peers to what is published: `GET /v1/subscriptions`, and `GET`, `PUT` and `DELETE` of
// `/v1/subscriptions/{name}`.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "json/checked.hpp"
#include "json/line.hpp"
#include "records/subscription.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// Throws `InvalidRequest`.
PeerSubscription readSubscription(const std::string& name, std::string_view body) {
  PeerSubscription read{.name = name};
  json::CheckedMembers object = json::readObject(json::withoutMark(body));
  if (!object.problem.empty()) {
    throw InvalidRequest(object.problem);
  }
  for (const auto& [field, value] : object.members.all()) {
    std::string* const text = field == "peer"      ? &read.peer
                              : field == "type"    ? &read.type
                              : field == "session" ? &read.session
                                                   : nullptr;
    if (text == nullptr) {
      throw InvalidRequest("a subscription has no field \"" + std::string(field) + "\": it has peer, type and session");
    }
    const std::optional<std::string_view> decoded = object.members.decode(value);
    if (!decoded) {
      throw InvalidRequest(std::string(field) + " must be a string");
    }
    *text = *decoded;
  }
  if (read.peer.empty()) {
    throw InvalidRequest("peer is missing");
  }
  return read;
}

/// The subscription with this name, if it may be seen.
std::optional<PeerSubscription> find(Service& service, const Limits& limits, const std::string& name) {
  const std::vector<PeerSubscription> all = service.reader().subscriptions();
  const auto found = std::ranges::find(all, name, &PeerSubscription::name);
  return found != all.end() && limits.hasPeer(found->peer) ? std::optional(*found) : std::nullopt;
}

/// A name may be that of another peer's subscription. Throws `BeyondLimits`.
void requireOwn(Service& service, const Request& request, const std::string& name) {
  if (const std::optional<PeerSubscription> earlier = find(service, {}, name)) {
    requirePeer(request, earlier->peer);
  }
}

Response subscribed(Service& service, const Request& request, const PeerSubscription& subscription) {
  bool isNew = false;
  requireOwn(service, request, subscription.name);
  try {
    isNew = service.changes().subscribe(subscription);
  } catch (const OptionError& error) {
    return problemAnswer(422, "Invalid subscription", circumstancesOf(error));
  } catch (const Error& error) {
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
    return problemAnswer(422, "Invalid subscription", "the outbox has no peer '" + subscription.peer + "'");
  }
  service.audit().record(request.caller, isNew ? "subscriptions:add" : "subscriptions:change", subscription.name, 1);
  return jsonAnswer(isNew ? 201 : 200, json::Line().add("name", subscription.name).add("added", isNew).text());
}

Response noSubscription(const std::string& name) {
  return problemAnswer(404, "Not found", "no subscription has the name '" + name + "'");
}

}  // namespace

void listSubscriptions(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      request.sharer(),
      [&service, limits = request.caller.limits] {
        std::vector<PeerSubscription> all = service.reader().subscriptions();
        std::erase_if(all, [&](const PeerSubscription& one) { return !limits.hasPeer(one.peer); });
        return pageAnswer("subscriptions", records::listOf(all), 0);
      },
      std::move(respond));
}

void showSubscription(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  service.workers().answer(
      request.sharer(),
      [&service, name = request.path[0], limits = request.caller.limits] {
        const std::optional<PeerSubscription> found = find(service, limits, name);
        return found ? jsonAnswer(200, records::lineOf(*found).text()) : noSubscription(name);
      },
      std::move(respond));
}

void subscribe(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  PeerSubscription subscription = readSubscription(request.path[0], request.body);
  requirePeer(request, subscription.peer);
  const std::string sharer = request.sharer();
  service.workers().answer(
      sharer,
      [&service, request = std::move(request), wanted = std::move(subscription)] {
        return subscribed(service, request, wanted);
      },
      std::move(respond));
}

void unsubscribe(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::string sharer = request.sharer();
  service.workers().answer(
      sharer,
      [&service, request = std::move(request)] {
        const std::string& name = request.path[0];
        requireOwn(service, request, name);
        if (!service.changes().unsubscribe(name)) {
          return noSubscription(name);
        }
        service.audit().record(request.caller, "subscriptions:remove", name, 1);
        return jsonAnswer(200, json::Line().add("name", name).add("removed", true).text());
      },
      std::move(respond));
}

}  // namespace ackbox::serve
