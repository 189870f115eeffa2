#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"

namespace ackbox::simulation {

struct Place;

/// Which applications are there, and what processes and their senders report about this (P13): an application that was
/// always there is not reported as away, and an answer about a deferred frame states what its receiver knew.
class Attendance {
public:
  Attendance(Ledger& ledger, Reach& reach, const testing::Simulation& simulation)
      : ledger_(ledger), reach_(reach), simulation_(simulation) {}

  /// The process, of this agent, keeps frames for the agent of a mailbox.
  void keeps(const std::string& agent, const std::string& box) { boxes_[box] = agent; }

  /// A consumer starts to take frames of these types from its process, or stops. `now`: of the process's clock. `box`:
  /// it takes frames of this mailbox, whatever their types.
  void opened(const std::string& process, std::uint64_t consumer, const std::string& types, SteadyTime now,
              const std::string& box = {});
  void closed(std::uint64_t consumer);
  /// The application to which a process posts has not accepted a frame.
  void refused(const std::string& process);
  void died(const std::string& process);

  /// The applications that a process knows; null: it knows none yet. `now`: the time of its clock.
  void read(const Place& place, const std::vector<Application>* known, SteadyTime now);
  /// The answer to a request to `peer` that left at `sentAt`, for a message of this type.
  void answered(const std::string& process, const std::string& peer, const std::string& messageId,
                const std::string& type, std::chrono::nanoseconds sentAt, const FrameResult& result);
  /// The sender's event reports the application as away.
  void stated(const std::string& process, const std::string& messageId);

private:
  struct Stream {
    std::string process;
    /// See `lineOf`.
    std::vector<std::string> lines;
  };
  struct Known {
    // When an answering process last knew that the application is there, and that it is away, in true time.
    std::chrono::nanoseconds there{-1};
    std::chrono::nanoseconds away{-1};
  };

  [[nodiscard]] bool mayBeAway(const std::string& process, const std::string& line, SteadyTime now) const;
  [[nodiscard]] std::size_t streams(const std::string& process, const std::string& line) const;
  void readOne(const Place& place, const std::string& line, bool isAway, SteadyTime now);

  Ledger& ledger_;
  Reach& reach_;
  const testing::Simulation& simulation_;
  std::map<std::uint64_t, Stream> streams_;
  // Of each mailbox, the agent that keeps it.
  std::map<std::string, std::string> boxes_;
  // By process and line: the time since which an application has been there without a break.
  std::map<std::pair<std::string, std::string>, SteadyTime, std::less<>> thereSince_;
  // Processes with an application that has refused a frame.
  std::set<std::string> refused_;
  // By agent and line.
  std::map<std::pair<std::string, std::string>, Known> known_;
  // By process and message.
  std::set<std::pair<std::string, std::string>> stated_;
};

}  // namespace ackbox::simulation
