#include "simulation/fetcher.hpp"

#include <chrono>
#include <limits>
#include <utility>

#include "protocol/inbound_port.hpp"
#include "simulation/mail_network.hpp"

namespace ackbox::simulation {
namespace {

constexpr std::chrono::milliseconds kGlance{500};

std::shared_ptr<const transport::MailboxPlan> planOf(testing::SimulatedProcess& process, Common& common,
                                                     const Place& place, InboundHandler& handler) {
  auto plan = std::make_shared<transport::MailboxPlan>();
  plan->options.url = "http://127.0.0.1";
  plan->options.agent = Hub::uriOf(place.agent);
  plan->options.settleTimeout = std::chrono::seconds(5);
  plan->options.window = common.swarm.mailboxes.window;
  // The process owns both, and they outlive the run.
  plan->options.clock = std::shared_ptr<Clock>(std::shared_ptr<void>(), &process.clock());
  plan->options.random = std::shared_ptr<Random>(std::shared_ptr<void>(), &process.random());
  plan->options.onRefused = [&ledger = common.ledger](std::string_view source, std::string_view id,
                                                      std::string_view what) {
    ledger.violated("P3", std::string(id) + " of " + std::string(source) + " is refused: " + std::string(what));
  };
  plan->hub = transport::hubOf(plan->options);
  plan->handler = protocol::InboundPort::shared(handler);
  plan->lineBytesMax = std::numeric_limits<std::size_t>::max();
  plan->board = std::make_shared<transport::MailboxBoard>();
  plan->network = std::make_shared<MailNetwork>(process, common, place.agent);
  return plan;
}

}  // namespace

Fetcher::Fetcher(testing::SimulatedProcess& process, Common& common, Place place, InboundHandler& handler)
    : process_(process),
      common_(common),
      place_(std::move(place)),
      alarm_(process.clock().makeAlarm(process.executor())),
      plan_(planOf(process, common, place_, handler)) {
  act();
}

void Fetcher::act() {
  const bool isAwake = common_.healed || common_.hub.isAwake(place_.agent);
  if (isAwake && !run_) {
    run_ = std::make_shared<transport::MailboxRun>(process_.executor(), plan_);
    run_->start();
  } else if (!isAwake && run_) {
    std::exchange(run_, nullptr)->stop();
  }
  if (!common_.healed) {
    alarm_->set(process_.clock().steadyNow() + kGlance, [this] { act(); });
  }
}

}  // namespace ackbox::simulation
