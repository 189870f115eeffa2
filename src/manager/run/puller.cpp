#include "manager/run/puller.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "manager/facade/core.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/run/pull_job.hpp"

namespace ackbox::manager {
namespace {

// More than a caller delivers before its next claim; bounds one transaction.
constexpr std::size_t kClaimsMax = 10'000;
// The peer's limit does not apply: the caller decides how many claims are outstanding.
constexpr std::uint32_t kRequestsMax = 1U << 30U;

SendReport reportOf(const FrameResult& result) {
  SendReport report;
  report.outcome = RequestOutcome::answered;
  report.results.push_back(result);
  return report;
}

}  // namespace

Puller::Puller(Core& core) : core_(core) {}

template <typename Work>
auto Puller::serialized(Work work) {
  if (core_.writer().runsInThisThread()) {
    throw Error(Errc::wouldDeadlock, "nothing was claimed or settled");
  }
  try {
    auto result = [&] {
      const MutexLock lock(mutex_);
      return work();
    }();
    announce();
    return result;
  } catch (...) {
    announce();
    throw;
  }
}

std::vector<Claim> Puller::claim(std::size_t limit) {
  return serialized([&] {
    mutex_.assertHeld();
    std::vector<Claim> taken;
    const std::size_t wanted = std::min(limit, kClaimsMax);
    if (wanted == 0) {
      return taken;
    }
    open();
    try {
      for (bool look = true; taken.size() < wanted;) {
        machine_->setClaiming(true);
        machine_->setClaimBudget(wanted - taken.size());
        delivery::Actions decided;
        machine_->tick(now(), decided);
        pending_.add(std::move(decided));
        machine_->setClaiming(false);
        if (!look && pending_.claims() == 0) {
          break;
        }
        // The rest of a large backlog is read only if the known rows do not suffice.
        const bool suffices = moreUnread_ && pending_.claims() >= wanted - taken.size();
        look = commit(suffices ? Look::no : Look::yes, taken);
      }
      commitDecided();
    } catch (const Error&) {
      // The claimed messages already belong to the caller; the next call gets the error again.
      if (taken.empty()) {
        throw;
      }
    }
    return taken;
  });
}

std::vector<SettleStatus> Puller::settle(std::span<const ClaimResult> results) {
  return serialized([&] {
    mutex_.assertHeld();
    std::vector<ClaimLedger::Standing> standings;
    standings.reserve(results.size());
    std::unordered_set<Number> seen;
    for (const ClaimResult& result : results) {
      standings.push_back(ledger_.standingOf(result.token));
      if (standings.back() != ClaimLedger::Standing::late && !seen.insert(result.token.number).second) {
        throw Error(Errc::invalidTransition, "a claim appears twice in one call");
      }
    }
    // Each result is the answer to its own request, which reserves room only for itself.
    pending_.reserve(results.size());
    for (std::size_t index = 0; index < results.size(); ++index) {
      if (standings[index] == ClaimLedger::Standing::outstanding) {
        decide(results[index].token.number, reportOf(results[index].result));
      }
    }
    commitDecided();
    std::vector<SettleStatus> statuses;
    statuses.reserve(results.size());
    for (std::size_t index = 0; index < results.size(); ++index) {
      statuses.push_back(standings[index] == ClaimLedger::Standing::late
                             ? SettleStatus::late
                             : ledger_.takeStatus(results[index].token.number));
    }
    return statuses;
  });
}

SettleStatus Puller::release(const ClaimToken& token, std::string_view peerError) {
  return serialized([&] {
    mutex_.assertHeld();
    const ClaimLedger::Standing standing = ledger_.standingOf(token);
    if (standing == ClaimLedger::Standing::late) {
      return SettleStatus::late;
    }
    if (standing == ClaimLedger::Standing::outstanding) {
      SendReport report;
      report.outcome = peerError.empty() ? RequestOutcome::cancelled : RequestOutcome::peerUnavailable;
      report.error = peerError;
      decide(token.number, report);
    }
    commitDecided();
    return ledger_.takeStatus(token.number);
  });
}

RecoverReport Puller::recoverStuck(std::chrono::milliseconds threshold) {
  return serialized([&] {
    mutex_.assertHeld();
    RecoverReport report;
    if (!machine_) {
      // A run may be under way, and it looks for rows itself.
      report.deadOwners = commitBlocking(core_.writer(), false, [](store::Store& store) {
        return store.owners().anyDead() ? store.owners().releaseDead() : 0;
      });
      return report;
    }
    const std::vector<Number> stuck = ledger_.claimedUntil(now().steady - threshold);
    FrameResult result;
    result.outcome = Outcome::nack;
    result.code = "stuck";
    result.detail = "claimed and not settled for " + std::to_string(threshold.count()) + " ms";
    for (const Number number : stuck) {
      decide(number, reportOf(result));
      ledger_.noteRecovered(number);
    }
    deadOwners_ = 0;
    std::vector<Claim> none;
    commit(Look::yes, none);
    report.deadOwners = deadOwners_;
    for (const Number number : stuck) {
      report.claims += ledger_.takeStatus(number) == SettleStatus::settled ? 1U : 0U;
    }
    return report;
  });
}

void Puller::yieldToRun() {
  serialized([this] {
    mutex_.assertHeld();
    if (!machine_) {
      return true;
    }
    if (const std::size_t open = ledger_.outstanding(); open != 0) {
      throw Error(Errc::alreadyRunning,
                  std::to_string(open) + " claims are not settled: settle or release them, or call stop");
    }
    commitDecided();
    close();
    return true;
  });
}

StopReport Puller::stop() {
  return serialized([this] {
    mutex_.assertHeld();
    StopReport report;
    if (!machine_) {
      return report;
    }
    const std::vector<Number> claimed = ledger_.claimedUntil(SteadyTime::max());
    SendReport cancelled;
    cancelled.outcome = RequestOutcome::cancelled;
    for (const Number number : claimed) {
      decide(number, cancelled);
    }
    try {
      commitDecided();
      for (const Number number : claimed) {
        report.released += ledger_.takeStatus(number) == SettleStatus::settled ? 1U : 0U;
      }
    } catch (const Error&) {
      // The messages stay claimed in the file; their owner claims them again, or releases them when it closes the file.
    }
    close();
    return report;
  });
}

void Puller::settledOutside(delivery::SessionKey session, delivery::MessageKey key) {
  const MutexLock lock(settledMutex_);
  if (listening_) {
    settled_.emplace_back(session, key);
  }
}

void Puller::open() {
  if (machine_) {
    return;
  }
  core_.beginPull();
  // A request has the guard of its claim, so each has one message.
  policies_ = std::make_unique<PolicyLookup>(core_.options());
  delivery::MachineOptions options = policies_->machineOptions();
  options.batchFrames = 1;
  // The caller of a claim chooses the time of the next one.
  options.restoresHealth = false;
  options.openClock = &core_.openClock();
  machine_ = std::make_unique<delivery::Machine>(std::move(options), core_.random());
  machine_->setClaiming(false);
  mustRestart_ = true;
  moreUnread_ = false;
  const MutexLock lock(settledMutex_);
  listening_ = true;
}

void Puller::close() noexcept {
  machine_.reset();
  policies_.reset();
  peers_.clear();
  sessionPeers_.clear();
  ledger_.close();
  pending_ = {};
  {
    const MutexLock lock(settledMutex_);
    listening_ = false;
    settled_.clear();
  }
  core_.endPull();
}

delivery::Now Puller::now() const {
  return {core_.clock().steadyNow(), core_.clock().wallNow()};
}

void Puller::forgetSettled() {
  std::vector<std::pair<delivery::SessionKey, delivery::MessageKey>> settled;
  {
    const MutexLock lock(settledMutex_);
    settled.swap(settled_);
  }
  for (const auto& [session, key] : settled) {
    machine_->forget(session, key);
  }
}

void Puller::decide(Number number, const SendReport& report) {
  const ClaimLedger::Outstanding claimed = ledger_.decide(number);
  delivery::Actions decided;
  machine_->answered(claimed.request, report, now(), decided);
  pending_.add(std::move(decided));
  policies_->settled(claimed.key);
}

void Puller::commitDecided() {
  if (machine_ && pending_.hasDecisions()) {
    std::vector<Claim> none;
    commit(Look::no, none);
  }
}

bool Puller::commit(Look look, std::vector<Claim>& taken) {
  StepJob step;
  step.fill(pending_.take());
  PullJob job(core_, step, look == Look::yes, mustRestart_);
  try {
    job.carryOut();
  } catch (const Error& error) {
    delivery::Actions later;
    pending_.putBack(std::move(step.actions), *machine_, std::chrono::milliseconds(0),
                     error.code() == Errc::outOfMemory, now(), later);
    pending_.add(std::move(later));
    throw;
  }
  mustRestart_ = false;
  ledger_.setOwner(job.owner);
  deadOwners_ += job.deadOwners;
  ledger_.committed(step.actions.settlements, step.settled);
  addPeers(job.peers);
  addPeers(job.newRows.peers);
  addTaken(step, taken);
  for (const delivery::SessionInfo& session : job.newRows.sessions) {
    sessionPeers_.insert_or_assign(session.key, session.peer);
  }
  policies_->introduce(job.newRows.sessions);
  delivery::Actions decided;
  if (job.newRows.holds) {
    machine_->applyHolds(*job.newRows.holds, now(), decided);
  }
  machine_->rowsSeen(job.newRows.sessions, job.newRows.rows, now(), decided, job.newRows.recalls);
  pending_.add(std::move(decided));
  forgetSettled();
  const auto nameOf = [this](delivery::PeerKey key) {
    mutex_.assertHeld();
    const auto peer = peers_.find(key);
    return peer == peers_.end() ? std::string() : peer->second.name;
  };
  const auto peerOf = [this, &nameOf](delivery::SessionKey session) {
    mutex_.assertHeld();
    const auto peer = sessionPeers_.find(session);
    return peer == sessionPeers_.end() ? std::string() : nameOf(peer->second);
  };
  StepEvents announcement(step, {nameOf, peerOf}, core_.peerWatch());
  const MutexLock lock(announceMutex_);
  announcements_.push_back(std::move(announcement));
  moreUnread_ = look == Look::yes ? job.newRows.more : moreUnread_;
  if (job.unreadFor) {
    // Immediate retries would repeat for as long as the disk fails.
    throw Error(*job.unreadFor, "new messages could not be looked for");
  }
  return moreUnread_ || !job.newRows.rows.empty();
}

void Puller::addTaken(StepJob& step, std::vector<Claim>& taken) {
  if (taken.empty()) {
    taken.reserve(step.claims.size());
  }
  delivery::Actions sends;
  for (std::size_t index = 0; index < step.claims.size(); ++index) {
    const delivery::RequestId request = step.actions.claims[index].request;
    store::ClaimReply reply = std::move(step.claims[index]);
    machine_->claimed(request, reply.sessions, step.epoch, now(), sends);
    if (sends.sends.empty()) {
      continue;
    }
    const delivery::Actions::Send send = std::move(sends.sends.back());
    sends.sends.clear();
    const delivery::Actions::Send::Item& item = send.items.front();
    const auto message = std::find_if(reply.messages.begin(), reply.messages.end(),
                                      [&](const store::ClaimedMessage& one) { return one.key == item.key; });
    Claim& claim = taken.emplace_back();
    claim.token = ledger_.add({request, item.key, now().steady}, reply.sessions.front().rows.front().attempt);
    const auto peer = peers_.find(send.peer);
    claim.peer = peer == peers_.end() ? std::string() : peer->second.name;
    policies_->sending(item.key, message->frame);
    claim.frame = std::move(message->frame);
    claim.frame.previousSequence = item.previousSequence;
  }
  pending_.add(std::move(sends));
}

void Puller::addPeers(std::span<const store::PeerRow> peers) {
  for (const store::PeerRow& row : peers) {
    const KnownPeer peer = core_.peer(row.name);
    if (!peer.options) {
      continue;
    }
    const bool isNew = peers_.insert_or_assign(row.key, row).second;
    policies_->addPeer(row.key, peer.options);
    machine_->peerAdded(row.key, kRequestsMax, 1, peer.options->rateLimit);
    if (isNew) {
      machine_->peerKnown(row.key, row.store, row.storeEpoch);
    }
  }
}

// One thread at a time emits, in the order of the commits. If a callback claims or settles, the call that invoked it
// emits the resulting events.
void Puller::announce() {
  const MutexLock lock(announceMutex_);
  if (announcing_) {
    return;
  }
  announcing_ = true;
  while (!announcements_.empty()) {
    StepEvents next = std::move(announcements_.front());
    announcements_.pop_front();
    const MutexUnlock unlocked(announceMutex_);
    next.emit(core_.events());
  }
  announcing_ = false;
}

}  // namespace ackbox::manager
