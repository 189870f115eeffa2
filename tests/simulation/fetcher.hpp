#pragma once

#include <memory>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_handler.hpp"
#include "simulation/common.hpp"
#include "transport/mailbox_run.hpp"

namespace ackbox::simulation {

/// Fetches the frames of an agent from its mailbox, as a `MailboxFetcher` does, while the agent is awake.
///
/// Lifetime: within that of the handler.
class Fetcher {
public:
  Fetcher(testing::SimulatedProcess& process, Common& common, Place place, InboundHandler& handler);

private:
  void act();

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  const std::unique_ptr<Alarm> alarm_;
  const std::shared_ptr<const transport::MailboxPlan> plan_;
  // Null: it sleeps.
  std::shared_ptr<transport::MailboxRun> run_;
};

}  // namespace ackbox::simulation
