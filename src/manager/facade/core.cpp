#include "manager/facade/core.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/shown_url.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/run/engine.hpp"
#include "manager/run/puller.hpp"

namespace ackbox::manager {
namespace {

// How long a problem counts after its end, so that a file that fails now and then is not reported as well in between;
// and how long a lock must have lasted to count.
constexpr std::chrono::seconds kTroubleCounts{10};

// `options` with the peers that the store took over from the file.
OutboxOptions withPeersOf(store::Store& store, OutboxOptions options) {
  for (const store::PeerRow& row : store.peers().rows()) {
    const auto given = [&](const PeerOptions& peer) { return peer.name == row.name; };
    if (row.definition.empty() && std::none_of(options.peers.begin(), options.peers.end(), given)) {
      options.peers.push_back(row.options());
    }
  }
  return options;
}

}  // namespace

Core::Core(std::unique_ptr<const store::Place> place, OutboxOptions options)
    : place_(std::move(place)),
      store_(place_->open(options)),
      options_(withPeersOf(*store_, std::move(options))),
      origin_(store_->origin()),
      logFile_(store_->logFile()),
      ownersFile_(store_->ownersFile()),
      reader_(place_->read(options_, [this](std::string_view name) { return peer(name).options; })),
      log_(options_.log, options_.logLevel, options_.clock),
      tracer_(options_.trace, log_),
      events_([this](const std::string& what) {
        log_.write(LogLevel::error, "callback-threw", "a callback threw; nothing else is affected: " + what,
                   {{"error", what}});
      }),
      eventLog_(events_, log_),
      refusals_(std::make_shared<RefusalCounts>(writer_, options_.clock, !options_.storeExecutor,
                                                [this](const std::string& what) { reportException(what); })),
      storeReport_(*store_, ownersFile_,
                   [this](bool isRaised, std::string sentence) { reportProcess(isRaised, std::move(sentence)); }),
      puller_(std::make_unique<Puller>(*this)),
      waiters_(writer_, options_, [this](const std::string& what) { reportException(what); }),
      writer_(
          *store_, [this](store::Store& store) { return afterCommit(store); },
          [this](const std::error_code& error, const std::string& why) { transactionFailed(error, why); }) {
  {
    const MutexLock lock(peersMutex_);
    for (const PeerOptions& configured : options_.peers) {
      peers_.emplace(configured.name, KnownPeer{.options = std::make_shared<const PeerOptions>(configured)});
    }
  }
  for (const store::PeerRow& row : store_->peers().rows()) {
    if (row.definition.empty()) {
      configuredPeers_.insert(row.key);
    }
  }
  learnPeers(*store_);
  changedPeers_.clear();
  logOpening();
  if (options_.storeExecutor) {
    writer_.runOn(options_.storeExecutor);
  } else {
    writer_.startThread();
  }
  openClock_.look({clock().steadyNow(), clock().wallNow()});
}

Core::~Core() {
  refusals_->close();
  waiters_.close();
  // A run holds the core, so no run is left; its thread may be the one that drops the core.
  if (ownThread_.joinable()) {
    if (ownThread_.get_id() == std::this_thread::get_id()) {
      ownThread_.detach();
    } else {
      ownThread_.join();
    }
  }
}

void Core::reportProcess(bool isRaised, std::string sentence) {
  HealthEvent event;
  event.check = HealthCheck::process;
  event.raised = isRaised;
  event.value = isRaised ? 1 : 0;
  event.threshold = 1;
  event.at = clock().wallNow();
  event.sentence = std::move(sentence);
  events_.health.emit(event);
}

void Core::reportRun(delivery::ProcessReport&& report) {
  if (report.use != delivery::FileUse::none) {
    const MutexLock lock(fileMutex_);
    const SteadyTime now = clock().steadyNow();
    std::erase_if(fileTroubles_, [now](const auto& known) {
      return known.second.endedAt && now - *known.second.endedAt >= kTroubleCounts;
    });
    if (report.isRaised) {
      const auto known = fileTroubles_.find(report.use);
      const bool isNewLock =
          report.error == Errc::databaseBusy && (known == fileTroubles_.end() || known->second.endedAt);
      if (report.error == lastFailure_ && !whyFailed_.empty()) {
        report.sentence += " (" + whyFailed_ + ")";
      }
      fileTroubles_[report.use] = {report.sentence, isNewLock ? now + kTroubleCounts : now, std::nullopt};
    } else if (const auto known = fileTroubles_.find(report.use);
               known != fileTroubles_.end() && now < known->second.countsFrom) {
      fileTroubles_.erase(known);
    } else if (known != fileTroubles_.end()) {
      known->second.endedAt = now;
    }
  }
  reportProcess(report.isRaised, std::move(report.sentence));
}

// Locks are common, and the other errors that are left out are those of calls, which get them.
void Core::transactionFailed(const std::error_code& error, const std::string& why) {
  {
    const MutexLock lock(fileMutex_);
    lastFailure_ = error;
    whyFailed_ = why;
  }
  constexpr Errc kOfStore[] = {Errc::databaseError, Errc::databaseReadOnly, Errc::schemaMissing,
                               Errc::ioError,       Errc::databaseCorrupt,  Errc::diskFull,
                               Errc::notADatabase,  Errc::outcomeUnknown};
  const auto isIt = [&error](Errc errc) { return error == errc; };
  if (std::ranges::any_of(kOfStore, isIt) && failureReports_.admits(why, clock().steadyNow())) {
    const std::string effect =
        error == Errc::outcomeUnknown ? ", which may be kept: " : ", and nothing of it was kept: ";
    log_.write(LogLevel::warning, "store-failed", "a transaction of the store failed" + effect + error.message(),
               {{"cause", error.message()}, {"error", why}});
  }
}

std::string Core::fileTrouble() const {
  if (!running()) {
    return {};
  }
  if (store_->isReplaced()) {
    return make_error_code(Errc::databaseReplaced).message();
  }
  const SteadyTime now = clock().steadyNow();
  const MutexLock lock(fileMutex_);
  for (const auto& [use, trouble] : fileTroubles_) {
    if (now >= trouble.countsFrom && (!trouble.endedAt || now - *trouble.endedAt < kTroubleCounts)) {
      return trouble.sentence;
    }
  }
  return {};
}

void Core::reportException(const std::string& what) noexcept {
  try {
    reportProcess(true, "an exception was caught, and the process continues: " + what);
  } catch (...) {
    // There is no memory for the report.
  }
}

KnownPeer Core::peer(std::string_view name) const {
  const MutexLock lock(peersMutex_);
  const auto found = peers_.find(name);
  return found == peers_.end() ? KnownPeer{} : found->second;
}

void Core::learnPeers(store::Store& store) {
  for (store::PeerChange& change : store.peers().takeChanges()) {
    const std::string& name = change.row.name;
    {
      const MutexLock lock(peersMutex_);
      if (change.options) {
        peers_.insert_or_assign(name, KnownPeer{change.options, change.problem});
      } else {
        peers_.erase(name);
      }
    }
    if (!change.options) {
      log_.write(LogLevel::info, "peer-removed", "peer '" + name + "' was removed from the outbox", {{"peer", name}});
    } else if (change.problem.empty()) {
      log_.write(LogLevel::info, "peer-added", "peer '" + name + "' of the outbox is a peer of this process",
                 {{"peer", name}, {"url", shownUrl(change.options->url)}});
    } else {
      log_.writeUnasked(LogLevel::error, "peer-unusable", name,
                        "the definition of peer '" + name +
                            "' in the outbox cannot be used, and its messages wait: " + change.problem,
                        {{"peer", name}, {"cause", change.problem}});
    }
    changedPeers_.push_back(std::move(change.row));
  }
}

NewCommit Core::takeNewRows() {
  learnPeers(*store_);
  NewCommit made{store_->discovery().take(kNewRowsMax), store_->owners().shared()};
  made.rows.peers = std::exchange(changedPeers_, {});
  if (made.rows.holds) {
    for (delivery::PeerHolds& held : made.rows.holds->peers) {
      // The configuration of this process counts, whatever another process has removed from the file.
      held.isRemoved = held.isRemoved && !configuredPeers_.contains(held.record.peer);
    }
  }
  for (const delivery::SessionKey session : made.rows.damaged) {
    const std::string number = std::to_string(session);
    log_.writeUnasked(
        LogLevel::error, "session-damaged", number,
        "the outbox does not hold session " + number +
            " as it was written, by a disk's fault: nothing of it is sent or becomes a dead letter, and all other "
            "sessions go on; ackbox verify FILE names what is damaged, and docs/restore.md says what to do",
        {{"row", number}});
  }
  return made;
}

void Core::requireFile() const {
  if (store_->isReplaced()) {
    throw Error(Errc::databaseReplaced, place_->name());
  }
}

void Core::notify() noexcept {
  withEngine([](Engine& running) { running.lookForCommits(); });
}

bool Core::ack(std::string_view messageId) {
  auto settled =
      commitBlocking(writer_, false, [&](store::Store& store) { return store.settles().ackById(messageId); });
  if (!settled) {
    return false;
  }
  AckedEvent event;
  event.messageId = settled->message.messageId;
  event.sequence = settled->message.sequence;
  event.peer = settled->peer;
  event.session = settled->session;
  settledOutside(settled->message, [event](EventHub& events) { events.acked.emit(event); });
  return true;
}

void Core::ackEventCommitted(const store::AckEventOutcome& outcome, const FrameResult& result) {
  using Kind = store::AckEventOutcome::Kind;
  if (outcome.kind == Kind::recalled) {
    withEngine([&](Engine& running) { running.recalledOutside(outcome.message.session, outcome.message.key); });
    return;
  }
  if (outcome.kind != Kind::settled) {
    return;
  }
  const MessageEvent base{outcome.message.messageId, outcome.peer, outcome.session, outcome.message.sequence};
  if (result.outcome == Outcome::ack) {
    settledOutside(outcome.message, [event = AckedEvent{base, result.duplicate, result.result}](EventHub& events) {
      events.acked.emit(event);
    });
  } else {
    FailedEvent event{base, result.code.empty() ? "rejected" : result.code,
                      result.detail.empty() ? result.code : result.detail};
    settledOutside(outcome.message, [failed = std::move(event)](EventHub& events) { events.failed.emit(failed); });
  }
}

Stats Core::stats() const {
  requireFile();
  const RefusalCounts::Values unwritten = refusals_->unwritten();
  Stats stats = reader_->stats();
  stats.refusedUnauthenticated += unwritten.unauthenticated;
  stats.refusedForbidden += unwritten.forbidden;
  store_->latencies().describe(stats.enqueueToAck, clock().steadyNow());
  stats.logNotBatched = store_->whyLogNotBatched();
  return stats;
}

void Core::settledOutside(const store::SettledMessage& message, const std::function<void(EventHub&)>& emit) {
  // The last commits happen in the core's destructor, when no reference is left.
  const std::shared_ptr<Core> self = weak_from_this().lock();
  const bool hasRun =
      self && withEngine([&](Engine& running) { running.settledOutside(self, message.session, message.key, emit); });
  if (!hasRun) {
    puller_->settledOutside(message.session, message.key);
    emit(events_);
  }
}

void Core::emitSuperseded(store::Store& store) {
  for (const store::SupersededMessage& superseded : store.outbox().takeSuperseded()) {
    SupersededEvent event;
    event.messageId = superseded.message.messageId;
    event.peer = superseded.peer;
    event.session = superseded.session;
    event.sequence = superseded.message.sequence;
    event.supersededById = superseded.byMessageId;
    event.supersededBySequence = superseded.bySequence;
    settledOutside(superseded.message, [event](EventHub& events) { events.superseded.emit(event); });
  }
}

// Wakes the run after the store is free: its first step is a transaction, which would wait for the end of this one.
store::Writer::AfterRelease Core::afterCommit(store::Store& store) {
  using AfterRelease = store::Writer::AfterRelease;
  learnPeers(store);
  emitSuperseded(store);
  waiters_.committed(store);
  struct Listener {
    // Held until the run is woken, so that the run does not end before, and released after it. The lock outlives the
    // function that takes it, which the classes of mutex.hpp do not support.
    std::shared_lock<SharedMutex::Native> lock;
    std::shared_ptr<Engine> run;
  };
  Listener found{std::shared_lock(endLock_->native()), engine()};
  if (!found.run) {
    if (!isPulling()) {
      changedPeers_.clear();
    }
    store.discovery().stop();
    return {};
  }
  try {
    const auto listener = std::make_shared<Listener>(std::move(found));
    AfterRelease wake = [listener] {
      try {
        listener->run->wake();
      } catch (const std::exception&) {
        // The run's next poll takes the queued rows.
      }
    };
    return listener->run->onCommit([this] { return takeNewRows(); }) ? std::move(wake) : AfterRelease();
  } catch (const std::exception&) {
    // The rows are committed; the run's next poll reads them, or gets the error.
    return {};
  }
}

}  // namespace ackbox::manager
