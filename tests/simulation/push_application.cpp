#include "simulation/push_application.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ackbox::simulation {
namespace {

using std::chrono::milliseconds;
using transport::HttpAnswer;
using transport::HttpEnd;

HttpAnswer answerOf(int status) {
  HttpAnswer answer;
  answer.end = HttpEnd::answered;
  answer.status = status;
  return answer;
}

HttpAnswer noAnswer(HttpEnd end, bool isAtPeer) {
  HttpAnswer answer;
  answer.end = end;
  answer.error = "no answer";
  answer.isAtPeer = isAtPeer;
  return answer;
}

}  // namespace

InboundFrame readEvent(const nlohmann::json& event) {
  InboundFrame frame;
  frame.id = event.at("id").get<std::string>();
  frame.source = event.at("source").get<std::string>();
  frame.type = event.at("type").get<std::string>();
  frame.session = event.value("sessionid", "");
  frame.origin = event.value("sessionorigin", "");
  if (const auto sequence = event.find("sessionseq"); sequence != event.end()) {
    frame.sequence = sequence->is_string() ? std::stoull(sequence->get<std::string>()) : sequence->get<std::uint64_t>();
  }
  return frame;
}

PushApplication::PushApplication(testing::SimulatedProcess& process, Common& common, Place place)
    : process_(process),
      common_(common),
      place_(std::move(place)),
      consumer_{common.hands.nextConsumer(), Pool::pushed, std::numeric_limits<std::size_t>::max(),
                common.swarm.handling.concurrency} {}

void PushApplication::asyncPost(transport::HttpPost post, transport::HttpHandler handler) {
  Random& random = process_.random();
  const Applications& applications = common_.swarm.applications;
  const bool isThere = common_.healed || applications.isThere(common_.simulation.now());
  const std::uint64_t number = ++lastCall_;
  Call& call = calls_[number];
  call.handler = std::move(handler);
  call.frame = readEvent(nlohmann::json::parse(post.body));
  call.isReached = isThere;
  milliseconds wait{1};
  if (isThere) {
    common_.hands.given(place_, process_.clock(), consumer_, call.frame);
    call.answer = drawAnswer(call.frame);
    const milliseconds longest =
        common_.healed ? std::min(applications.holdMax, common_.swarm.handling.thinkTimeout / 4) : applications.holdMax;
    wait += milliseconds(drawBelow(random, static_cast<std::uint64_t>(longest.count())));
  } else {
    call.answer = noAnswer(HttpEnd::unavailable, false);
  }
  if (call.answer.isAtPeer) {
    wait = post.timeout;
  }
  call.alarm = process_.clock().makeAlarm(process_.executor());
  call.alarm->set(process_.clock().steadyNow() + wait, [this, number] { end(number); });
}

HttpAnswer PushApplication::drawAnswer(const InboundFrame& frame) {
  Random& random = process_.random();
  const Applications& applications = common_.swarm.applications;
  if (common_.healed) {
    return answerOf(200);
  }
  if (drawChance(random, applications.refused)) {
    return answerOf(404);
  }
  if (drawChance(random, applications.silent)) {
    return noAnswer(HttpEnd::unavailable, true);
  }
  if (drawChance(random, applications.retried)) {
    return drawChance(random, 0.5) ? noAnswer(HttpEnd::connectionLost, false) : answerOf(503);
  }
  if (drawChance(random, applications.rejected)) {
    common_.ledger.entries[nameOf(frame.id)].rejected = true;
    return answerOf(422);
  }
  return answerOf(200);
}

void PushApplication::end(std::uint64_t number) {
  const auto ended = calls_.extract(number);
  const Call& call = ended.mapped();
  if (call.isReached) {
    common_.hands.ended(place_.agent, call.frame);
  }
  if (call.answer.status == 200) {
    common_.hands.acknowledged(place_.agent, call.frame);
  }
  if (call.answer.status == 404 || !call.isReached) {
    common_.attendance.refused(place_.process);
    common_.reach.saw(call.isReached ? Situation::pushRefused : Situation::pushUnreached);
  }
  call.handler(call.answer);
}

}  // namespace ackbox::simulation
