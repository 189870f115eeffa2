#include "simulation/daemon.hpp"

#include <string>
#include <utility>

#include "ackbox/http_sender.hpp"
#include "serve/inbox/application_board.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "serve/inbox/pusher.hpp"
#include "simulation/application_types.hpp"
#include "simulation/push_application.hpp"

namespace ackbox::simulation {
namespace {

constexpr std::size_t kStreamsMax = 256;

std::vector<std::string> mailboxesOf(const Common& common, const Place& place) {
  std::vector<std::string> mailboxes;
  if (common.hub.is(place.agent)) {
    mailboxes = {Hub::uriOf("box*"), Hub::uriOf(common.hub.fetcher())};
  }
  return mailboxes;
}

}  // namespace

Daemon::Daemon(testing::SimulatedProcess& process, Common& common, const Place& place)
    : process_(process), common_(common), place_(place), isHub_(common.hub.is(place.agent)) {
  // The process owns both, and they outlive the daemon.
  const std::shared_ptr<Clock> clock(std::shared_ptr<void>(), &process.clock());
  const std::shared_ptr<Random> random(std::shared_ptr<void>(), &process.random());
  serve::DeliveryRule rule;
  rule.types = kPushed;
  rule.url = "http://127.0.0.1/";
  HttpSenderOptions client;
  client.clock = clock;
  pusher_ = std::make_shared<serve::Pusher>(process.executor(), std::vector{rule}, client, common.reach.log(),
                                            std::make_shared<PushApplication>(process, common, place));
  streams_ = std::make_shared<serve::FrameStreams>(
      process.executor(), clock, random, kStreamsMax,
      serve::StreamedFrames{
          .types = {std::string(kPulled)}, .pushed = {std::string(kPushed)}, .mailboxes = mailboxesOf(common, place)},
      common.reach.log());
  board_ = std::make_shared<serve::ApplicationBoard>(process.executor(), clock, [pusher = pusher_, streams = streams_] {
    std::vector<Application> applications;
    pusher->addApplications(applications);
    streams->addApplications(applications);
    return applications;
  });
  board_->start();
  for (std::uint32_t number = 0; common.hasApplications(place.agent) && number < common.swarm.applications.streams;
       ++number) {
    applications_.push_back(std::make_unique<StreamApplication>(process, common, place, std::string(), streams_));
  }
  if (isHub_) {
    common.hub.started(place.process, {.process = &process, .streams = streams_});
    for (const std::string& box : common.hub.takers()) {
      applications_.push_back(std::make_unique<StreamApplication>(process, common, place, box, streams_));
    }
  }
}

Daemon::~Daemon() {
  common_.hub.died(place_.process);
}

bool Daemon::takes(const InboundFrame& frame) const {
  return !frame.mailbox.empty() || takes(frame.type);
}

bool Daemon::takes(std::string_view type) const {
  return pusher_->takes(type) || streams_->takes(type);
}

void Daemon::configure(DeferredOptions& options) {
  options.pools.push_back({{std::string(kPushed)}, options.concurrency, pusher_->demand(0)});
  options.pools.push_back({{std::string(kPulled)}, common_.swarm.applications.places, streams_->demand()});
  if (isHub_) {
    const Mailboxes& mailboxes = common_.swarm.mailboxes;
    options.mailboxes = {.agents = mailboxesOf(common_, place_),
                         .demand = streams_->mailDemand(),
                         .concurrency = mailboxes.places,
                         .wishConcurrency = mailboxes.ownPlaces,
                         .mailboxFramesMax = mailboxes.framesMax};
  }
  streams_->watchUnwanted();
  options.applications = [&attendance = common_.attendance, &clock = process_.clock(), place = place_, board = board_] {
    const std::shared_ptr<const std::vector<Application>> known = board->current();
    attendance.read(place, known.get(), clock.steadyNow());
    return known;
  };
}

void Daemon::add(DeferredFrame frame) {
  if (!frame.frame().mailbox.empty() || streams_->takes(frame.frame().type)) {
    streams_->add(std::move(frame));
  } else {
    pusher_->push(std::move(frame));
  }
}

}  // namespace ackbox::simulation
