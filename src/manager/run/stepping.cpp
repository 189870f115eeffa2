// The run's transactions: their work in the store, and the way their results return to the strand.

#include <exception>
#include <utility>

#include "manager/facade/jobs.hpp"
#include "manager/run/engine.hpp"
#include "manager/run/engine_guard.hpp"
#include "manager/run/step_events.hpp"
#include "manager/run/step_job.hpp"
#include "store/failure.hpp"

namespace ackbox::manager {
namespace {

// Retained rows that one poll deletes when no other messages are settled.
constexpr std::size_t kPurgedPerPoll = 500;

// Settled rows that one poll passes on the way to the oldest live row: a few milliseconds.
constexpr std::size_t kLooksPerPoll = 5'000;

}  // namespace

std::shared_ptr<RunHandoff<Engine>> Engine::handoff() {
  return std::make_shared<RunHandoff<Engine>>(core_->endLock(), shared_from_this());
}

// Called in the thread that has committed. Returns the error of the commit, or of reading the new rows.
std::error_code Engine::queueCommit(const std::error_code& error) noexcept {
  if (error) {
    return error;
  }
  try {
    commits_.add(CommitQueue::WhenEmpty::keep, [this] { return core_->takeNewRows(); });
    return {};
  } catch (...) {
    return store::errorOf(std::current_exception());
  }
}

void Engine::perform(delivery::run_action::Discover&& /*action*/) {
  commitDetached(
      core_->writer(), false,
      [](store::Store& store) {
        store.discovery().restart();
        store.owners().releaseDead();
        return store.peers().current();
      },
      [link = handoff()](const std::error_code& error, std::vector<store::PeerRow> peers) {
        link->enter(
            [error](Engine& engine) {
              // The discovery shows all rows again.
              engine.commits_.clear();
              return engine.queueCommit(error);
            },
            [known = std::move(peers)](Engine& engine, const std::error_code& failure) {
              engine.discovered(failure, known);
            });
      });
  run_.lookBegun();
}

void Engine::discovered(const std::error_code& error, const std::vector<store::PeerRow>& peers) {
  run_.lookReturned();
  on([&](const delivery::Now& at, delivery::RunActions& actions) {
    core_->storeAnswered();
    if (error) {
      run_.discoveryFailed(error, at, actions);
      return;
    }
    const std::vector<delivery::RunPeer> known = addPeers(peers);
    std::list<NewCommit> commits = commits_.take();
    std::vector<delivery::CommittedRows> rows = rowsOf(commits);
    run_.discovered(known, rows, at, actions);
  });
}

// A peer without a configuration here may belong to another process: its sessions wait for that process.
std::vector<delivery::RunPeer> Engine::addPeers(const std::vector<store::PeerRow>& rows) {
  std::vector<delivery::RunPeer> known;
  for (const store::PeerRow& row : rows) {
    const KnownPeer peer = core_->peer(row.name);
    if (!peer.options) {
      senders_.dropPeer(row.name);
      continue;
    }
    if (!row.definition.empty()) {
      senders_.usePeer(peer.options, peer.problem);
    }
    const bool isNew = peers_.insert_or_assign(row.key, row).second;
    policies_.addPeer(row.key, peer.options);
    known.push_back({.key = row.key,
                     .maxRequests = peer.options->maxRequests,
                     .creditFrames = senders_.initialCredit(row.name),
                     .rateLimit = peer.options->rateLimit,
                     .store = row.store,
                     .storeEpoch = row.storeEpoch,
                     .isKnown = !isNew});
  }
  return known;
}

// In an empty transaction, the store notices commits of other connections, and releases the rows of dead owners.
void Engine::perform(delivery::run_action::Poll&& /*action*/) {
  commitDetached(
      core_->writer(), false,
      [](store::Store& store) {
        store.settles().purgeAcked(kPurgedPerPoll);
        if (store.owners().anyDead()) {
          store.owners().releaseDead();
        }
        store.advanceOldest(kLooksPerPoll);
        const bool isUntidy = store.tidy();
        return Poll{store.vitals(), isUntidy};
      },
      [link = handoff()](const std::error_code& error, const Poll& poll) {
        link->enter([error](Engine& engine) { return engine.queueCommit(error); },
                    [poll](Engine& engine, const std::error_code& failure) { engine.polled(failure, poll); });
      });
  run_.lookBegun();
}

void Engine::polled(const std::error_code& error, const Poll& poll) {
  run_.lookReturned();
  on([&](const delivery::Now& at, delivery::RunActions& actions) {
    core_->storeAnswered();
    if (!error) {
      watch(poll.vitals);
      renewSigns();
    }
    std::list<NewCommit> commits;
    if (run_.takesRows()) {
      commits = commits_.take();
    }
    std::vector<delivery::CommittedRows> rows = rowsOf(commits);
    run_.polled(error, poll.isUntidy, rows, at, actions);
    for (const std::shared_ptr<FileWatch>& watch : {watch_, called_}) {
      if (watch && !run_.hasEnded()) {
        watch->arm();
      }
    }
  });
}

// All code that may throw runs before the step is taken, so that decisions are either with the store or still with the
// run.
void Engine::perform(delivery::run_action::SubmitStep&& /*action*/) {
  // Two changes of threads are most of the cost of a single message. Under load, many messages share them, and the
  // answers that arrive while the writer commits make the next step larger.
  const bool here = Core::commitsInline(thread_) && run_.isStepLone();
  const auto step = std::make_shared<StepJob>();
  StepJob::Finished finished = [link = handoff()](const std::shared_ptr<StepJob>& done) {
    link->enter([&done](const Engine&) { return done; },
                [](Engine& engine, const std::shared_ptr<StepJob>& job) { engine.stepDone(job); });
  };
  step->fill(run_.takeStep());
  if (here && step->commitHere(core_->writer())) {
    committed_ = step;
    return;
  }
  StepJob::submit(step, core_->writer(), std::move(finished));
}

// A step that this thread has committed is followed up at once, but not recursively: a step that the follow-up commits
// here is followed up later.
void Engine::followUp() {
  if (!committed_) {
    return;
  }
  if (isFollowingUp_) {
    post([this, step = committed_] { stepDone(step); });
    committed_.reset();
    return;
  }
  isFollowingUp_ = true;
  stepDone(std::exchange(committed_, nullptr));
  isFollowingUp_ = false;
}

void Engine::stepDone(const std::shared_ptr<StepJob>& step) {
  run_.stepReturned();
  on([&](const delivery::Now&, delivery::RunActions& actions) {
    core_->storeAnswered();
    if (step->error) {
      run_.stepFailed(std::move(step->actions), step->error, now(), actions);
      return;
    }
    delivery::StepCounts counts = emit(*step);
    watch(step->vitals, step->actions.peers);
    std::vector<delivery::ClaimAnswer> answers;
    answers.reserve(step->claims.size());
    for (std::size_t index = 0; index < step->claims.size(); ++index) {
      store::ClaimReply& reply = step->claims[index];
      const delivery::RequestId request = step->actions.claims[index].request;
      counts.claimed += reply.messages.size();
      answers.push_back({.request = request, .sessions = reply.sessions});
      requests_.insert_or_assign(request, Request{false, std::move(reply.messages), step->epoch, {}, {}});
    }
    run_.stepCommitted(answers, step->epoch, counts, now(), actions);
  });
  // Drops the claims without messages to send.
  for (const delivery::Actions::Claim& claim : step->actions.claims) {
    const auto claimed = requests_.find(claim.request);
    if (claimed != requests_.end() && !claimed->second.isSent) {
      requests_.erase(claimed);
    }
  }
}

delivery::StepCounts Engine::emit(StepJob& step) {
  const auto nameOf = [this](delivery::PeerKey peer) { return peerName(peer); };
  const auto peerOf = [this](delivery::SessionKey session) {
    const auto peer = sessionPeers_.find(session);
    return peer == sessionPeers_.end() ? std::string() : peerName(peer->second);
  };
  StepEvents events(step, {nameOf, peerOf}, core_->peerWatch());
  events.emit(core_->events());
  return events.counts();
}

std::string Engine::peerName(delivery::PeerKey peer) const {
  const auto known = peers_.find(peer);
  return known == peers_.end() ? std::string() : known->second.name;
}

// Subscribers may do anything, so they are called after all findings were recorded.
void Engine::watch(const store::Vitals& vitals, std::span<const delivery::PeerRecord> peers) {
  if (!health_.on()) {
    return;
  }
  HealthWatch::Events events;
  const WallTime wall = now().wall;
  for (const delivery::PeerRecord& record : peers) {
    if (const auto peer = peers_.find(record.peer); peer != peers_.end()) {
      health_.peerChanged(peer->second.name, record.down, record.downSince, wall, events);
    }
  }
  health_.look(vitals, wall, events);
  for (const HealthEvent& event : events) {
    core_->events().health.emit(event);
  }
}

}  // namespace ackbox::manager
