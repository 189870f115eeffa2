#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ackbox/testing/simulation.hpp"
#include "simulation/attendance.hpp"
#include "simulation/hands.hpp"
#include "simulation/hub.hpp"
#include "simulation/ledger.hpp"
#include "simulation/places.hpp"
#include "simulation/publications.hpp"
#include "simulation/reach.hpp"
#include "simulation/swarm.hpp"
#include "simulation/watch.hpp"

namespace ackbox::simulation {

/// The state that all agents of a world share.
struct Common {
  const Swarm& swarm;
  Ledger& ledger;
  testing::Simulation& simulation;
  Places& places;
  Watch& watch;
  Reach& reach;
  Hands& hands;
  Attendance& attendance;
  Publications& publications;
  Hub& hub;
  std::vector<std::string> names;
  /// How often each agent's file was put back to a copy, and how often it was lost.
  std::map<std::string, std::uint32_t> putBack;
  std::map<std::string, std::uint32_t> lost;
  /// Agents that got a report that a peer knows another file than theirs.
  std::set<std::string> disowned;
  /// The number of enqueues apart from a handler's transaction, so far.
  std::uint64_t asides = 0;
  /// From now on, handlers behave correctly.
  bool healed = false;
  /// From now on, what waits is hours of its calendar away, and a life that begins polls seldom.
  bool patient = false;
  /// The deliberate defect: effects are kept in memory and written after the ACK has left.
  bool canary = false;

  /// Whether this agent gives frames to applications.
  [[nodiscard]] bool hasApplications(const std::string& agent) const {
    const auto first = names.begin();
    return std::find(first, first + swarm.applications.agents, agent) != first + swarm.applications.agents;
  }
  /// What this process has in flight, and goes on with, is anybody's.
  void claimsLost(const std::string& process) const {
    watch.claimsLost(process);
    hands.died(process);
    reach.saw(Situation::connectionLost);
  }
};

/// One life of one process.
struct Place {
  /// The agent to which the process belongs.
  std::string agent;
  std::string process;
};

}  // namespace ackbox::simulation
