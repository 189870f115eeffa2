#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ackbox/options.hpp"
#include "delivery/machine.hpp"

namespace ackbox::manager {

/// Connects a machine, which knows keys, with the user's policies, which know names: gives the machine the policies of
/// its sessions, and calls the user's failure function with names. Keeps names only if there is such a function.
///
/// Thread-safety: none; belongs to the machine's strand.
class PolicyLookup {
public:
  /// `options` must outlive it, and it must outlive the machine that has its options.
  explicit PolicyLookup(const OutboxOptions& options) : options_(options) {}
  PolicyLookup(const PolicyLookup&) = delete;
  PolicyLookup& operator=(const PolicyLookup&) = delete;

  [[nodiscard]] delivery::MachineOptions machineOptions();

  /// Called before the sessions of the peer are introduced, and when its options have changed: its sessions then have
  /// the new retry policy.
  void addPeer(delivery::PeerKey peer, std::shared_ptr<const PeerOptions> options);
  /// Fills in the sessions' policies.
  void introduce(std::span<delivery::SessionInfo> sessions);
  /// The message is being sent; `settled` is called when the machine has processed the answer.
  void sending(delivery::MessageKey key, const OutboundFrame& frame);
  void settled(delivery::MessageKey key);

private:
  struct Named {
    std::string id;
    std::string type;
  };
  struct SessionNames {
    delivery::PeerKey peer;
    std::string session;
  };

  struct PeerPolicies {
    std::shared_ptr<const PeerOptions> options;
    // The machine's sessions refer to it.
    RetryPolicy retry;
  };

  [[nodiscard]] FailureDecision decide(const delivery::Failure& failure) const;
  [[nodiscard]] std::string_view peerName(delivery::PeerKey peer) const;

  const OutboxOptions& options_;
  std::unordered_map<delivery::PeerKey, PeerPolicies> peers_;
  std::unordered_map<delivery::SessionKey, SessionNames> sessions_;
  std::unordered_map<delivery::MessageKey, Named> messages_;
};

}  // namespace ackbox::manager
