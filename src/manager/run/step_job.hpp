#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "delivery/machine.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// One transaction of a delivery run: settles, releases and peer records first, then claims. Not fsynced: a claim or a
/// settle that is lost in a power cut only causes a resend, which the peer deduplicates. A step in which a message
/// fails is fsynced: once the session has gone on, the peer would take a resend for a duplicate, and acknowledge a
/// message that never took effect.
///
/// Created empty and filled afterwards, so that a failed allocation loses no decisions of a run.
struct StepJob final : public store::Job, public std::enable_shared_from_this<StepJob> {
  using Finished = std::function<void(const std::shared_ptr<StepJob>&)>;

  void fill(delivery::Actions&& decided) noexcept {
    actions = std::move(decided);
    durable = std::any_of(actions.settlements.begin(), actions.settlements.end(),
                          [](const auto& settlement) { return settlement.transition == delivery::Transition::fail; });
  }

  /// Commits the job in this thread, unless it would wait for another job or for the disk. Returns true after the
  /// transaction, with its result in `error`; false if nothing was done, and the job must be submitted.
  bool commitHere(store::Writer& writer) { return !durable && writer.commitHere(*this, store::WhenLocked::leave); }

  /// The job keeps itself alive until `onDone` is called, in the thread that commits.
  static void submit(const std::shared_ptr<StepJob>& job, store::Writer& writer, Finished onDone) {
    job->finished = std::move(onDone);
    job->self = job;
    writer.submit(*job);
  }

  void run(store::Store& store) override {
    resets.clear();
    for (const delivery::PeerIdentity& identity : actions.identities) {
      if (std::optional<PeerResetEvent> event = store.peerResets().recordIdentity(identity)) {
        resets.push_back(*std::move(event));
      }
    }
    settled = store.settles().settle(actions.settlements);
    sessionNames.clear();
    sessionNames.reserve(actions.settlements.size());
    for (const delivery::Settlement& settlement : actions.settlements) {
      sessionNames.push_back(store.discovery().sessionName(settlement.session));
    }
    // Purges twice as many rows as are retained, so that expired rows go without a pause.
    if (!actions.settlements.empty()) {
      store.settles().purgeAcked(2 * actions.settlements.size());
    }
    store.claims().endClaims(actions.releases);
    for (const delivery::PeerRecord& record : actions.peers) {
      store.peers().record(record);
    }
    claims.clear();
    claims.reserve(actions.claims.size());
    for (const delivery::Actions::Claim& claim : actions.claims) {
      claims.push_back(store.claims().claim(*claim.sessions, claim.recalls, claim.bytesMax, claim.framesMax));
    }
    epoch = store.epoch();
    vitals = store.vitals();
  }

  void done(const std::error_code& end) noexcept override {
    error = end;
    if (const std::shared_ptr<StepJob> keep = std::move(self)) {
      finished(keep);
    }
  }

  delivery::Actions actions;
  Finished finished;
  std::shared_ptr<StepJob> self;

  // The result of the transaction.
  std::error_code error;
  // For subscribers: resets of peers, or of this file.
  std::vector<PeerResetEvent> resets;
  // The result: one entry per settlement, per settlement and per claim.
  std::vector<std::optional<store::SettledMessage>> settled;
  std::vector<std::string> sessionNames;
  std::vector<store::ClaimReply> claims;
  std::uint64_t epoch = 0;
  store::Vitals vitals;
};

}  // namespace ackbox::manager
