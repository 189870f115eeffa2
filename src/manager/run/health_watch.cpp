#include "manager/run/health_watch.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::manager {
namespace {

std::uint64_t since(WallTime then, WallTime now) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>((now - then).count(), 0));
}

std::string sentenceOf(const HealthEvent& event) {
  const std::string value = std::to_string(event.value);
  const std::string limit = ", the threshold is " + std::to_string(event.threshold);
  switch (event.check) {
    case HealthCheck::failed:
      return value + " dead letters" + limit;
    case HealthCheck::pending:
      return value + " undelivered messages" + limit;
    case HealthCheck::oldestAge:
      return "the oldest undelivered message is " + value + " ms old" + limit + " ms";
    case HealthCheck::process:
      break;
    case HealthCheck::peerDown:
      return "peer " + event.peer + (event.raised ? " is unreachable for " + value + " ms" : " answers again") + limit +
             " ms";
  }
  return {};
}

// Not `value <= threshold * 4 / 5`, which overflows.
bool isWell(std::uint64_t value, std::uint64_t threshold) {
  return value < threshold - threshold / 5;
}

}  // namespace

bool HealthWatch::on() const noexcept {
  return thresholds_.failed != 0 || thresholds_.pending != 0 || thresholds_.oldestAge.count() != 0 ||
         thresholds_.peerDownFor.count() != 0;
}

void HealthWatch::cross(HealthEvent event, bool& raised, Events& events) {
  if (event.threshold == 0 || (raised ? !isWell(event.value, event.threshold) : event.value < event.threshold)) {
    return;
  }
  raised = !raised;
  event.raised = raised;
  event.sentence = sentenceOf(event);
  events.push_back(std::move(event));
}

void HealthWatch::look(const store::Vitals& vitals, WallTime now, Events& events) {
  HealthEvent event;
  event.at = now;
  event.check = HealthCheck::failed;
  event.value = vitals.failed;
  event.threshold = thresholds_.failed;
  cross(event, failed_, events);
  event.check = HealthCheck::pending;
  event.value = vitals.live;
  event.threshold = thresholds_.pending;
  cross(event, pending_, events);
  if (vitals.live == 0 || vitals.oldestAt) {
    event.check = HealthCheck::oldestAge;
    event.value = vitals.live == 0 ? 0 : since(*vitals.oldestAt, now);
    event.threshold = static_cast<std::uint64_t>(thresholds_.oldestAge.count());
    cross(event, oldestAge_, events);
  }
  lookAtPeers(now, events);
}

void HealthWatch::lookAtPeers(WallTime now, Events& events) {
  for (auto& [name, peer] : peers_) {
    if (!peer.raised) {
      HealthEvent event{.check = HealthCheck::peerDown,
                        .peer = name,
                        .value = since(peer.since, now),
                        .threshold = static_cast<std::uint64_t>(thresholds_.peerDownFor.count()),
                        .at = now,
                        .sentence = {}};
      cross(std::move(event), peer.raised, events);
    }
  }
}

void HealthWatch::peerChanged(const std::string& peer, bool down, WallTime since, WallTime now, Events& events) {
  if (down) {
    peers_.try_emplace(peer, DownPeer{since});
  } else if (const auto found = peers_.find(peer); found != peers_.end()) {
    HealthEvent event{.check = HealthCheck::peerDown,
                      .peer = peer,
                      .threshold = static_cast<std::uint64_t>(thresholds_.peerDownFor.count()),
                      .at = now,
                      .sentence = {}};
    if (found->second.raised) {
      cross(std::move(event), found->second.raised, events);
    }
    peers_.erase(found);
  }
  lookAtPeers(now, events);
}

}  // namespace ackbox::manager
