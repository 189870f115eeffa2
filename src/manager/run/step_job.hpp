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
/// settle that a power cut takes back only causes a resend, which the peer deduplicates. A step that gives a message up
/// is fsynced: once the session has gone on, the peer would take the resend for a duplicate, and acknowledge what never
/// took effect.
///
/// Made empty and filled afterwards, so that nothing is taken from a run for which there may be no memory.
struct StepJob final : public store::Job, public std::enable_shared_from_this<StepJob> {
  using Finished = std::function<void(const std::shared_ptr<StepJob>&)>;

  void fill(delivery::Actions&& decided) noexcept {
    actions = std::move(decided);
    durable = std::any_of(actions.settlements.begin(), actions.settlements.end(),
                          [](const auto& settlement) { return settlement.transition == delivery::Transition::fail; });
  }

  /// Commits it in this thread, unless something would keep it waiting, another job or the disk. True after the
  /// transaction, with its end in `error`; false when nothing was done, and the job is to be submitted.
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
    // Twice as fast as rows are retained, so that what is over goes without ever costing a pause.
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
      claims.push_back(store.claims().claim(*claim.sessions, claim.recalls, claim.bytesMax));
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

  // How the transaction ended.
  std::error_code error;
  // For subscribers: which peers, or this file, went back.
  std::vector<PeerResetEvent> resets;
  // The result, one entry per settlement, per settlement, per claim.
  std::vector<std::optional<store::SettledMessage>> settled;
  std::vector<std::string> sessionNames;
  std::vector<store::ClaimReply> claims;
  std::uint64_t epoch = 0;
  store::Vitals vitals;
};

}  // namespace ackbox::manager
