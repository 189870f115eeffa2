#include "manager/engine.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <iterator>
#include <utility>

#include "delivery/verdict.hpp"
#include "manager/announcement.hpp"
#include "manager/jobs.hpp"
#include "manager/step_job.hpp"
#include "store/early_claim.hpp"
#include "store/sql.hpp"

namespace ackbox::manager {
namespace {

// How long a run holds still after the store refused a transaction.
constexpr std::chrono::milliseconds kStorePause{250};

// Retained rows deleted by one poll, when nothing else is settled.
constexpr std::size_t kPurgedPerPoll = 500;

// Between looks for what others write to the log, so that a busy neighbour does not keep us looking.
constexpr std::chrono::milliseconds kSoon{4};

// Settled rows passed by one poll on the way to the oldest live one: a few milliseconds.
constexpr std::size_t kLooksPerPoll = 5'000;

template <typename Item>
void moveTo(std::vector<Item>& target, std::vector<Item>& source) {
  if (target.empty()) {
    target.swap(source);
    return;
  }
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
  source.clear();
}

bool needsStore(const delivery::Actions& actions) {
  return !actions.news.empty() || !actions.settlements.empty() || !actions.releases.empty() || !actions.peers.empty() ||
         !actions.claims.empty();
}

bool isLone(const delivery::Actions& actions) {
  std::size_t claimed = 0;
  for (const delivery::Actions::Claim& claim : actions.claims) {
    for (const delivery::SessionClaim& session : *claim.sessions) {
      claimed += session.keys.size();
    }
  }
  return actions.settlements.size() <= 1 && claimed <= 1;
}

// Whether nothing else is to be done than to claim this message.
bool isOnly(const delivery::Actions& actions, delivery::SessionKey session, delivery::MessageKey key) {
  if (actions.claims.size() != 1 || !actions.news.empty() || !actions.settlements.empty() ||
      !actions.releases.empty() || !actions.peers.empty() || !actions.sends.empty()) {
    return false;
  }
  const std::vector<delivery::SessionClaim>& asked = *actions.claims.front().sessions;
  return asked.size() == 1 && asked.front().session == session && asked.front().keys == std::vector{key} &&
         !asked.front().doubt;
}

}  // namespace

Engine::Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand,
               RunMode mode, bool commitsHere)
    : senders_(core->options().peers, std::move(sender)),
      strand_(std::move(strand)),
      mode_(mode),
      commitsHere_(commitsHere),
      core_(std::move(core)),
      adviser_(core_->options()),
      machine_(machineOptions(), core_->random()),
      health_(core_->options().health),
      wakeAlarm_(core_->clock().makeAlarm(strand_)),
      pollAlarm_(core_->clock().makeAlarm(strand_)),
      pauseAlarm_(core_->clock().makeAlarm(strand_)),
      stopAlarm_(core_->clock().makeAlarm(strand_)) {}

// Before its end only if its executor was thrown away.
Engine::~Engine() {
  if (core_) {
    core_->earlyClaim().withdraw();
  }
}

delivery::MachineOptions Engine::machineOptions() {
  delivery::MachineOptions made = adviser_.machineOptions();
  // Who drains by hand decides himself when to ask again.
  made.restoresHealth = mode_ == RunMode::continuous;
  return made;
}

void Engine::begin(Ended ended) {
  door_->engine = weak_from_this();
  hangBell();
  boost::asio::post(strand_, [self = shared_from_this(), call = std::move(ended)]() mutable {
    self->ended_ = std::move(call);
    self->machine_.setClaiming(self->mode_ != RunMode::once);
    self->senders_.start(self->strand_);
    self->watchNeighbours();
    self->discover();
  });
}

// On the manager's own thread only: a caller's executor may be one that waits for no descriptors.
void Engine::hangBell() {
  if (!commitsHere_) {
    return;
  }
  auto bell = std::make_shared<Bell>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->takeIn();
    }
  });
  if (bell->hang()) {
    bell_ = std::move(bell);
  }
}

// Reads the peers and the first of the backlog. A busy file or a full disk is asked again, as often as it takes; by a
// single pass never.
void Engine::discover() {
  pollUnderWay_ = true;
  commitDetached(
      core_->writer(), false,
      [](store::Store& store) {
        store.restartDiscovery();
        store.buryDeadOwners();
        return std::vector<store::PeerRow>(store.peers().begin(), store.peers().end());
      },
      [link = crossing()](const std::error_code& error, std::vector<store::PeerRow> peers) {
        link->enter(
            [error](Engine& engine) {
              // All that was told before is told again.
              engine.news_.clear();
              return engine.queueNews(error);
            },
            [known = std::move(peers)](Engine& engine, const std::error_code& failure) {
              engine.pollUnderWay_ = false;
              if (engine.hasFailed(failure)) {
                return;
              }
              if (failure && !engine.stopping_) {
                engine.pauseAlarm_->set(engine.now().steady + kStorePause,
                                        [self = engine.shared_from_this()] { self->discover(); });
                return;
              }
              engine.beginDone(known);
            });
      });
}

std::shared_ptr<Crossing<Engine>> Engine::crossing() {
  return std::make_shared<Crossing<Engine>>(core_->gate(), shared_from_this());
}

// In the thread that has committed. The commit's failure, or that of reading the news.
std::error_code Engine::queueNews(const std::error_code& error) noexcept {
  if (error) {
    return error;
  }
  try {
    news_.add(NewsQueue::WhenEmpty::keep, [this] { return core_->takeNews(); });
    return {};
  } catch (...) {
    return store::errorOf(std::current_exception());
  }
}

void Engine::wake() {
  if (bell_) {
    bell_->ring();
  } else {
    boost::asio::post(strand_, [self = shared_from_this()] { self->takeIn(); });
  }
}

// What was told before the discovery began anew is told again by it, with its sessions.
void Engine::takeIn() {
  if (!begun_ || finished_) {
    return;
  }
  delivery::Actions actions;
  for (News& news : news_.take()) {
    onNews(std::move(news), actions);
  }
  perform(std::move(actions));
}

void Engine::beginDone(const std::vector<store::PeerRow>& peers) {
  for (const store::PeerRow& row : peers) {
    const auto& configured = core_->options().peers;
    const auto found = std::find_if(configured.begin(), configured.end(),
                                    [&](const PeerOptions& peer) { return peer.name == row.name; });
    // A peer that this process was not given may be another's: its sessions wait for that one.
    if (found != configured.end()) {
      peers_.emplace(row.key, row);
      adviser_.addPeer(row.key, row.name);
      machine_.peerAdded(row.key, found->maxRequests, senders_.of(row.name).initialCredit(), found->rateLimit);
      machine_.peerMet(row.key, row.store, row.storeEpoch);
    }
  }
  begun_ = true;
  takeIn();
}

void Engine::stop() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->stopping_ || self->finished_) {
      return;
    }
    self->stopping_ = true;
    self->machine_.setClaiming(false);
    delivery::Actions actions;
    for (const delivery::Actions::Claim& claim : std::exchange(self->pending_.claims, {})) {
      self->machine_.claimFailed(claim.request, std::chrono::milliseconds(0), self->now(), actions);
    }
    self->stopAlarm_->set(self->now().steady + self->core_->options().stopTimeout, [self] { self->giveUp(); });
    self->perform(std::move(actions));
  });
}

void Engine::settledOutside(std::shared_ptr<Core> core, delivery::SessionKey session, delivery::MessageKey key,
                            std::function<void(EventHub&)> tell) {
  boost::asio::post(strand_, [self = shared_from_this(), hub = std::move(core), session, key, call = std::move(tell)] {
    // Its row first, if that was told earlier.
    self->takeIn();
    call(hub->events());
    if (!self->finished_) {
      self->machine_.forget(session, key);
      self->tick();
    }
  });
}

void Engine::recalledOutside(delivery::SessionKey session, delivery::MessageKey key) {
  boost::asio::post(strand_, [self = shared_from_this(), session, key] {
    self->takeIn();
    if (!self->finished_) {
      delivery::Actions actions;
      self->machine_.recalled(session, key, self->now(), actions);
      self->perform(std::move(actions));
    }
  });
}

void Engine::poke() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->finished_) {
      self->poll();
    }
  });
}

delivery::Now Engine::now() const {
  return {core_->clock().steadyNow(), core_->clock().wallNow()};
}

void Engine::onNews(News&& news, delivery::Actions& actions) {
  shared_ = news.shared;
  store::NewRows& rows = news.rows;
  for (const delivery::SessionInfo& session : rows.sessions) {
    sessionPeers_.insert_or_assign(session.key, session.peer);
  }
  adviser_.introduce(rows.sessions);
  if (rows.halts) {
    machine_.ordered(*rows.halts, now(), actions);
    if (stepUnderWay_) {
      rows.halts->peers.clear();
      halts_ = std::move(rows.halts);
    }
  }
  machine_.rowsSeen(rows.sessions, rows.rows, now(), actions);
  if (rows.claimed) {
    onEarlyClaim(std::move(*rows.claimed), rows.epoch, actions);
  }
  isBehind_ = rows.more;
  if (isBehind_) {
    poll();
  } else if (!discovered_) {
    discovered_ = true;
    pollLater();
    if (mode_ == RunMode::once && !stopping_) {
      machine_.setClaiming(true);
      machine_.tick(now(), actions);
      machine_.setClaiming(false);
    }
  }
}

// A lone message is claimed by the commit that stores it. The machine is told so if that is what it asks for now, and
// nothing else is; otherwise the message is given back, and claimed when it is its turn.
void Engine::onEarlyClaim(store::ClaimReply&& reply, std::uint64_t epoch, delivery::Actions& actions) {
  core_->earlyClaim().settle();
  const bool isOvertaken = std::exchange(isOvertaken_, false);
  const delivery::SessionClaimed& session = reply.sessions.front();
  const delivery::ClaimedRow& row = session.rows.front();
  if (!isOvertaken && mayClaimEarly() && isOnly(actions, session.session, row.key)) {
    const delivery::RequestId request = std::exchange(actions.claims, {}).front().request;
    onClaim(request, std::move(reply), epoch, actions);
    return;
  }
  actions.settlements.push_back(delivery::settlementOf(session.session, row, {}, now().wall));
  if (!delivery::isUnit(session.session)) {
    delivery::SessionRelease release;
    release.session = session.session;
    release.head = row.key;
    actions.releases.push_back(release);
  }
}

// Nothing is decided that is not committed, and the run's thread is sure to go on.
bool Engine::mayClaimEarly() const {
  return commitsHere_ && mode_ == RunMode::continuous && !stopping_ && !paused_ && !stepUnderWay_ &&
         !needsStore(pending_);
}

// After a lone message was acknowledged: its peer is well, and another one may follow. Until the next step, which may
// claim a session.
void Engine::allowEarlyClaim(const StepJob& step) {
  if (step.settled.size() != 1 || !step.settled.front() || !step.claims.empty() || !mayClaimEarly() ||
      machine_.requestsInFlight() != 0 || step.actions.settlements.front().transition != delivery::Transition::ack) {
    return;
  }
  const auto peer = sessionPeers_.find(step.settled.front()->session);
  if (peer != sessionPeers_.end()) {
    core_->earlyClaim().allow(peer->second);
  }
}

// What a commit under way has claimed is to be given back: the next commit comes after its news.
void Engine::awaitEarlyClaim() {
  pollUnderWay_ = true;
  commitDetached(
      core_->writer(), false, [](const store::Store&) { return true; },
      [link = crossing()](const std::error_code& error, bool) {
        link->enter([error](Engine& engine) { return engine.queueNews(error); },
                    [](Engine& engine, const std::error_code& failure) {
                      engine.takeIn();
                      engine.pollUnderWay_ = false;
                      if (!failure) {
                        engine.core_->earlyClaim().settle();
                      }
                      if (!failure || engine.patienceOver_) {
                        engine.endIfDone();
                      } else if (!engine.paused_) {
                        engine.pauseAlarm_->set(engine.now().steady + kStorePause,
                                                [self = engine.shared_from_this()] { self->endIfDone(); });
                      }
                    });
      });
}

void Engine::tick() {
  if (finished_) {
    return;
  }
  delivery::Actions actions;
  machine_.tick(now(), actions);
  perform(std::move(actions));
}

void Engine::perform(delivery::Actions&& actions) {
  moveTo(pending_.news, actions.news);
  moveTo(pending_.settlements, actions.settlements);
  moveTo(pending_.releases, actions.releases);
  moveTo(pending_.peers, actions.peers);
  moveTo(pending_.claims, actions.claims);
  for (delivery::Actions::Send& one : actions.sends) {
    send(std::move(one));
  }
  submitStep();
  wakeLater();
  publishPeers();
  endIfDone();
  stepDoneHere();
}

// What this thread has committed itself is followed up at once, but not without end: what that decides may be committed
// here again, and comes later.
void Engine::stepDoneHere() {
  const std::shared_ptr<StepJob> step = std::exchange(committed_, nullptr);
  if (!step) {
    return;
  }
  if (std::exchange(followsUp_, true)) {
    boost::asio::post(strand_, [self = shared_from_this(), step] { self->stepDone(step); });
    return;
  }
  stepDone(step);
  followsUp_ = false;
}

void Engine::publishPeers() {
  for (const delivery::PeerKey key : machine_.takeChangedPeers()) {
    const auto view = machine_.peer(key);
    const delivery::Now at = now();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(view->pausedUntil - at.steady);
    core_->peerBoard().write(key, {.requestsInFlight = view->requestsInFlight,
                                   .readySessions = view->readySessions,
                                   .pausedUntil = wait.count() > 0 ? at.wall + wait : WallTime{}});
  }
}

void Engine::submitStep() {
  if (stepUnderWay_ || paused_ || failure_ || !needsStore(pending_)) {
    return;
  }
  stepUnderWay_ = true;
  hasLooked_ = false;
  isOvertaken_ = !core_->earlyClaim().withdraw();
  // Two changes of threads are most of what a lone message costs. In a crowd they are shared by many, and what comes
  // back while the writer commits makes the next step larger.
  const bool here = commitsHere_ && machine_.requestsInFlight() <= 1 && isLone(pending_);
  const auto step = std::make_shared<StepJob>(std::exchange(pending_, {}));
  if (here && step->commitHere(core_->writer())) {
    committed_ = step;
    return;
  }
  StepJob::submit(step, core_->writer(), [link = crossing()](const std::shared_ptr<StepJob>& done) {
    link->enter([&done](const Engine&) { return done; },
                [](Engine& engine, const std::shared_ptr<StepJob>& job) { engine.stepDone(job); });
  });
}

void Engine::stepDone(const std::shared_ptr<StepJob>& step) {
  stepUnderWay_ = false;
  if (finished_ || hasFailed(step->error)) {
    return;
  }
  if (step->error) {
    stepFailed(*step);
    return;
  }
  allowEarlyClaim(*step);
  emit(*step);
  watch(step->vitals, step->actions.peers);
  delivery::Actions actions;
  for (std::size_t index = 0; index < step->claims.size(); ++index) {
    onClaim(step->actions.claims[index].request, std::move(step->claims[index]), step->epoch, actions);
  }
  obey(actions);
  perform(std::move(actions));
}

void Engine::onClaim(delivery::RequestId request, store::ClaimReply&& reply, std::uint64_t epoch,
                     delivery::Actions& actions) {
  drained_.claimed += reply.messages.size();
  requests_.insert_or_assign(request, Request{std::move(reply.messages), epoch, {}});
  const std::size_t sends = actions.sends.size();
  machine_.claimed(request, reply.sessions, epoch, now(), actions);
  if (actions.sends.size() == sends) {
    requests_.erase(request);
  }
}

// Once more those about sessions that came while a step was under way: whom it found halted is known only now.
void Engine::obey(delivery::Actions& actions) {
  if (const auto halts = std::exchange(halts_, std::nullopt)) {
    machine_.ordered(*halts, now(), actions);
  }
}

// What was decided stays decided: it goes in front of what was decided since. Claims are the machine's to decide anew.
void Engine::stepFailed(StepJob& step) {
  delivery::Actions retried = std::move(step.actions);
  delivery::Actions later;
  for (const delivery::Actions::Claim& claim : retried.claims) {
    machine_.claimFailed(claim.request, kStorePause, now(), later);
  }
  obey(later);
  retried.claims.clear();
  moveTo(retried.news, pending_.news);
  moveTo(retried.settlements, pending_.settlements);
  moveTo(retried.releases, pending_.releases);
  moveTo(retried.peers, pending_.peers);
  moveTo(retried.claims, pending_.claims);
  pending_ = std::move(retried);
  paused_ = true;
  pauseAlarm_->set(now().steady + kStorePause, [self = shared_from_this()] {
    self->paused_ = false;
    self->perform({});
  });
  perform(std::move(later));
}

void Engine::emit(StepJob& step) {
  Announcement announcement(step, [this](delivery::SessionKey session) {
    const auto sessionPeer = sessionPeers_.find(session);
    const auto peer = sessionPeer == sessionPeers_.end() ? peers_.end() : peers_.find(sessionPeer->second);
    return peer == peers_.end() ? std::string() : peer->second.name;
  });
  const StepCounts& counts = announcement.counts();
  drained_.acked += counts.acked;
  drained_.deferred += counts.deferred;
  drained_.retried += counts.retried;
  drained_.failed += counts.failed;
  drained_.released += counts.released;
  if (stopping_) {
    stopReport_.released += counts.released;
    stopReport_.settled += counts.settled();
  }
  announcement.emit(core_->events());
}

// Subscribers may do anything, so they are told when all that was seen is taken in.
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

void Engine::send(delivery::Actions::Send&& send) {
  const delivery::RequestId id = send.request;
  Request& claimed = requests_[id];
  const store::PeerRow& peer = peers_.at(send.peer);
  SendRequest request;
  request.peer = peer.name;
  request.url = peer.url;
  request.peerAgent = peer.agent;
  request.agent = core_->options().agent;
  request.origin = core_->origin();
  request.epoch = claimed.epoch;
  request.timeout = core_->options().requestTimeout;
  request.frames.reserve(send.items.size());
  // The items are a subsequence of the claimed rows, in the same order.
  auto next = claimed.messages.begin();
  for (const delivery::Actions::Send::Item& item : send.items) {
    next = std::find_if(next, claimed.messages.end(),
                        [&](const store::ClaimedMessage& message) { return message.key == item.key; });
    if (next == claimed.messages.end()) {
      break;
    }
    adviser_.sending(item.key, next->frame);
    claimed.keys.push_back(item.key);
    request.frames.push_back(std::move(next->frame));
    request.frames.back().previousSequence = item.previousSequence;
  }
  claimed.messages.clear();
  SendReport refused;
  if (stopping_ || failure_) {
    refused.outcome = RequestOutcome::cancelled;
  } else {
    try {
      // A run that gives up does not wait for its senders.
      auto link = std::make_shared<Crossing<Engine>>(core_->gate(), door_);
      senders_.of(peer.name).asyncSend(std::move(request), [link, id](SendReport report) {
        link->enter([&report](const Engine&) { return std::move(report); },
                    [id](Engine& engine, const SendReport& told) { engine.answered(id, told); });
      });
      return;
    } catch (const std::exception& error) {
      refused.error = error.what();
    }
  }
  boost::asio::post(strand_, [self = shared_from_this(), id, refused] { self->answered(id, refused); });
}

void Engine::answered(delivery::RequestId request, const SendReport& report) {
  // An answer after the run gave the request up, or a second one, is nobody's.
  const auto known = finished_ ? Requests::node_type{} : requests_.extract(request);
  if (known.empty()) {
    return;
  }
  delivery::Actions actions;
  machine_.answered(request, report, now(), actions);
  for (const delivery::MessageKey key : known.mapped().keys) {
    adviser_.settled(key);
  }
  perform(std::move(actions));
}

void Engine::wakeLater() {
  const std::optional<SteadyTime> wake = machine_.nextWake();
  if (wake && !stopping_ && mode_ == RunMode::continuous) {
    wakeAlarm_->set(*wake, [self = shared_from_this()] { self->tick(); });
  } else {
    wakeAlarm_->cancel();
  }
}

// An empty transaction makes the store notice what other connections committed, and bury owners that died.
void Engine::poll() {
  if (pollUnderWay_ || finished_ || stopping_ || failure_) {
    return;
  }
  pollUnderWay_ = true;
  isBehind_ = false;
  pollsDue_ = std::max(pollsDue_ - 1, 0);
  polledAt_ = now().steady;
  commitDetached(
      core_->writer(), false,
      [](store::Store& store) {
        store.purgeAcked(kPurgedPerPoll);
        if (store.anyOwnerDead()) {
          store.buryDeadOwners();
        }
        store.advanceOldest(kLooksPerPoll);
        const bool untidy = store.tidy();
        return Poll{store.vitals(), untidy};
      },
      [link = crossing()](const std::error_code& error, const Poll& poll) {
        link->enter([error](Engine& engine) { return engine.queueNews(error); },
                    [poll](Engine& engine, const std::error_code& failure) {
                      engine.pollUnderWay_ = false;
                      engine.untidy_ = poll.untidy;
                      if (!engine.finished_ && !engine.hasFailed(failure)) {
                        if (!failure) {
                          engine.watch(poll.vitals);
                        }
                        // Taken in by a wake while this poll was under way, its news may have asked for the next.
                        if (!failure && engine.isBehind_) {
                          engine.poll();
                        }
                        engine.takeIn();
                        if (engine.watch_) {
                          engine.watch_->arm();
                        }
                        engine.pollLater();
                      }
                    });
      });
}

void Engine::pollLater() {
  if (finished_ || stopping_ || mode_ != RunMode::continuous) {
    return;
  }
  const OutboxOptions& options = core_->options();
  // What is to be tidied is a slice each poll. Neighbours are heard where there is a watch.
  const auto interval = untidy_ || (shared_ && !watch_) ? options.sharedPollInterval : options.pollInterval;
  // What is heard is counted from the last poll: not put off by what is heard next.
  const SteadyTime due = shared_ && pollsDue_ > 0 ? polledAt_ + kSoon : now().steady + interval;
  pollAlarm_->set(due, [self = shared_from_this()] { self->poll(); });
}

// On the manager's own thread only: on a caller's, time is the caller's, too.
void Engine::watchNeighbours() {
  if (!commitsHere_ || mode_ != RunMode::continuous) {
    return;
  }
  auto watch = std::make_shared<FileWatch>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->heardNeighbour();
    }
  });
  if (watch->watch(core_->logFile(), core_->ownersFile())) {
    watch_ = std::move(watch);
  }
}

// Polled twice: what was heard comes just before a commit is there to be seen, or a dead process's lock has gone. It
// may have been this process's own write; the watch is armed again by the poll, so there are never more of these than
// polls.
void Engine::heardNeighbour() {
  if (finished_) {
    return;
  }
  pollsDue_ = 2;
  if (begun_ && shared_ && !pollUnderWay_) {
    pollLater();
  }
}

void Engine::giveUp() {
  if (finished_) {
    return;
  }
  patienceOver_ = true;
  senders_.stop();
  std::vector<delivery::RequestId> abandoned;
  for (const auto& [id, request] : requests_) {
    abandoned.push_back(id);
  }
  stopReport_.abandonedRequests += abandoned.size();
  for (const delivery::RequestId id : abandoned) {
    SendReport cancelled;
    cancelled.outcome = RequestOutcome::cancelled;
    answered(id, cancelled);
  }
  endIfDone();
}

// A single pass tells its caller what is wrong instead of waiting for it to go away.
bool Engine::hasFailed(const std::error_code& error) {
  if (error && mode_ != RunMode::continuous && !failure_) {
    failure_ = error;
  }
  if (failure_) {
    endIfDone();
  }
  return static_cast<bool>(failure_);
}

void Engine::endIfDone() {
  const bool ending = failure_ || stopping_ || (mode_ != RunMode::continuous && discovered_);
  if (finished_ || !ending || stepUnderWay_ || pollUnderWay_) {
    return;
  }
  if (failure_) {
    finish();
    return;
  }
  // What cannot be committed now stays claimed in the file, and is put back when the file is closed or next opened.
  const bool stuck = patienceOver_ && paused_;
  if (!stuck && (machine_.requestsInFlight() != 0 || needsStore(pending_))) {
    return;
  }
  if (!core_->earlyClaim().withdraw() && !patienceOver_) {
    awaitEarlyClaim();
    return;
  }
  if (mode_ == RunMode::untilIdle && !stopping_ && !std::exchange(hasLooked_, true)) {
    // What was enqueued before now is still to be sent, and its commit may not have told of it yet.
    poll();
    return;
  }
  finish();
}

void Engine::finish() {
  finished_ = true;
  if (bell_) {
    bell_->stop();
  }
  if (watch_) {
    watch_->stop();
  }
  wakeAlarm_->cancel();
  pollAlarm_->cancel();
  pauseAlarm_->cancel();
  stopAlarm_->cancel();
  senders_.stop();
  core_->peerBoard().clear();
  // The core may end with this reference, and must not end inside one of its own callers here.
  boost::asio::post(strand_, [self = shared_from_this(), core = std::exchange(core_, nullptr), call = std::move(ended_),
                              report = stopReport_] { call(report); });
}

}  // namespace ackbox::manager
