#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/sender.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"
#include "simulation/swarm.hpp"

namespace ackbox::serve {
class FrameStreams;
}

namespace ackbox::simulation {

/// The first agent of a world with mailboxes, which keeps the frames for agents that cannot be reached: of takers,
/// which open streams at it and have no file, and of one that fetches into a file of its own. Knows who is awake, who
/// opens which streams, and which receipts were given out; reports forbidden states.
class Hub {
public:
  Hub(const Swarm& swarm, Ledger& ledger, Reach& reach, const testing::Simulation& simulation);

  /// The agents without a file; empty: there are no mailboxes.
  [[nodiscard]] const std::vector<std::string>& takers() const noexcept { return takers_; }
  /// The agent that fetches; empty: there is none.
  [[nodiscard]] const std::string& fetcher() const noexcept { return fetcher_; }
  /// All agents that have a mailbox.
  [[nodiscard]] const std::vector<std::string>& boxes() const noexcept { return boxes_; }
  [[nodiscard]] bool is(std::string_view agent) const noexcept { return !boxes_.empty() && agent == kName; }
  [[nodiscard]] bool keeps(std::string_view agent) const;
  /// The address at which an agent gets its frames.
  [[nodiscard]] std::string urlOf(const std::string& agent) const;
  [[nodiscard]] static std::string uriOf(const std::string& agent) { return "urn:sim:" + agent; }
  [[nodiscard]] static std::string nameOfUri(std::string_view uri) {
    return std::string(uri.substr(std::string_view("urn:sim:").size()));
  }
  /// Whether the agent of this mailbox is there, by true time.
  [[nodiscard]] bool isAwake(const std::string& box) const;

  /// The streams of the hub's process that listens, from its start to its death.
  struct Streams {
    testing::SimulatedProcess* process = nullptr;
    std::weak_ptr<serve::FrameStreams> streams;
  };
  void started(const std::string& process, Streams streams) { streams_[process] = std::move(streams); }
  void died(const std::string& process) { streams_.erase(process); }
  /// Null: the hub cannot be reached.
  [[nodiscard]] const Streams* listening() const;

  /// A stream of the process was given a frame of this mailbox.
  void gave(const std::string& process, const std::string& box, const std::string& messageId,
            const std::string& receipt);
  /// The last receipt of a frame of any other mailbox; empty: there is none.
  [[nodiscard]] std::string foreignReceipt(const std::string& process, const std::string& box) const;
  /// The agent that fetches has worked on the message, and has accepted it.
  void worked(const std::string& agent, const std::string& messageId);
  /// It reports to the hub that the frame with this receipt has taken effect.
  void reported(const std::string& receipt);

  /// The answer to a request to `peer` that left at `sentAt`.
  void answered(const std::string& peer, const std::string& messageId, std::chrono::nanoseconds sentAt,
                const FrameResult& result);

private:
  static constexpr std::string_view kName = "agent0";

  const Swarm& swarm_;
  Ledger& ledger_;
  Reach& reach_;
  const testing::Simulation& simulation_;
  std::vector<std::string> takers_;
  std::string fetcher_;
  std::vector<std::string> boxes_;
  // By process.
  std::map<std::string, Streams> streams_;
  // By process and mailbox.
  std::map<std::pair<std::string, std::string>, std::string> lastReceipts_;
  // The messages of the fetcher's receipts, and those that it was given and those that it has accepted.
  std::map<std::string, std::string> fetched_;
  std::set<std::string> given_;
  std::set<std::string> worked_;
};

}  // namespace ackbox::simulation
