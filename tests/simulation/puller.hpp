#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "simulation/common.hpp"

namespace ackbox::simulation {

/// Delivers an agent's messages by `claim`, `settle` and `release`, as a program with its own scheduler does: some at
/// every glance, each in a separate request.
class Puller {
public:
  Puller(testing::SimulatedProcess& process, Common& common, Place place, OutboxManager& manager,
         std::shared_ptr<Sender> sender);

private:
  void glance();
  void send(const Claim& claim);
  void settle(const Claim& claim, const SendReport& report);
  void settleAgain();
  void arm();

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  OutboxManager& manager_;
  const std::shared_ptr<Sender> sender_;
  const std::unique_ptr<Alarm> alarm_;
  // Claims that the file could not settle, with their reports.
  std::vector<std::pair<Claim, SendReport>> unsettled_;
  // By this, a callback that outlives this object sees that it has gone.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ackbox::simulation
