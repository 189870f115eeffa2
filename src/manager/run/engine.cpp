#include "manager/run/engine.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <new>
#include <utility>
#include <variant>

#include "base/exception_report.hpp"
#include "manager/run/engine_guard.hpp"
#include "manager/run/step_job.hpp"
#include "store/failure.hpp"

namespace ackbox::manager {
namespace {

delivery::RunOptions runOptions(const OutboxOptions& options, delivery::RunMode mode) {
  return {.mode = mode,
          .pollInterval = options.pollInterval,
          .sharedPollInterval = options.sharedPollInterval,
          .stopTimeout = options.stopTimeout};
}

}  // namespace

Engine::Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand,
               delivery::RunMode mode, RunThread thread)
    : strand_(std::move(strand)),
      thread_(thread),
      senders_(core->options().peers, std::move(sender)),
      core_(std::move(core)),
      policies_(core_->options()),
      run_(runOptions(core_->options(), mode), machineOptions(), core_->random()),
      health_(core_->options().health) {
  for (auto& alarm : alarms_) {
    alarm = core_->clock().makeAlarm(strand_);
  }
}

delivery::MachineOptions Engine::machineOptions() {
  delivery::MachineOptions made = policies_.machineOptions();
  made.openClock = &core_->openClock();
  return made;
}

void Engine::begin(Ended ended) {
  link_->engine = weak_from_this();
  ended_ = std::move(ended);
  openWakeup();
  post([this] {
    senders_.start(strand_);
    watchNeighbours();
    on([this](const delivery::Now& at, delivery::RunActions& actions) { run_.begin(at, actions); });
  });
}

// On the manager's own thread only: another executor may not wait for descriptors.
void Engine::openWakeup() {
  if (thread_ != RunThread::own) {
    return;
  }
  auto wakeup = std::make_shared<Wakeup>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->takeCommits();
    }
  });
  if (wakeup->open()) {
    wakeup_ = std::move(wakeup);
  }
}

// On the manager's own thread only: elsewhere, the caller controls time and threads.
void Engine::watchNeighbours() {
  if (thread_ != RunThread::own || !run_.isContinuous()) {
    return;
  }
  auto watch = std::make_shared<FileWatch>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->on([&](const delivery::Now& at, delivery::RunActions& actions) { self->run_.neighbourWrote(at, actions); });
    }
  });
  if (watch->watch(core_->logFile(), core_->ownersFile())) {
    watch_ = std::move(watch);
    run_.setWatching();
  }
  watchSigns();
  // A program that enqueues by the extension is no owner. So that it is noticed all the same, it closes this file when
  // its commit is there to be seen: a sign that is apart from this process's own writes.
  auto called = std::make_shared<FileWatch>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->on([&](const delivery::Now& at, delivery::RunActions& actions) { self->run_.look(at, actions); });
    }
  });
  if (called->watch({}, core_->ownersFile())) {
    called_ = std::move(called);
  }
}

void Engine::watchSigns() {
  try {
    if (std::unique_ptr<store::Signs> signs = core_->place().signs()) {
      signs_ = std::make_shared<SignWatch>(strand_, std::move(signs), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
          self->on(
              [&](const delivery::Now& at, delivery::RunActions& actions) { self->run_.neighbourWrote(at, actions); });
        }
      });
      signs_->watch();
    }
    lacksSigns_ = false;
  } catch (const std::exception&) {
    // Polls find what others commit.
    lacksSigns_ = true;
  }
}

// Called after a poll, which shows that the store can be reached: the strand does not wait for it.
void Engine::renewSigns() {
  constexpr unsigned kPauseMost = 256;
  const bool isDue = lacksSigns_ || (signs_ && signs_->hasEnded());
  if (!isDue || ++signsPolls_ < signsPause_) {
    return;
  }
  signsPolls_ = 0;
  watchSigns();
  signsPause_ = lacksSigns_ ? std::min(2 * signsPause_, kPauseMost) : 1;
}

void Engine::wake() {
  if (wakeup_) {
    wakeup_->ring();
  } else {
    post([this] { takeCommits(); });
  }
}

void Engine::stop() {
  post([this] { on([this](const delivery::Now& at, delivery::RunActions& actions) { run_.stop(at, actions); }); });
}

void Engine::lookForCommits() {
  post([this] { on([this](const delivery::Now& at, delivery::RunActions& actions) { run_.look(at, actions); }); });
}

void Engine::settledOutside(std::shared_ptr<Core> core, delivery::SessionKey session, delivery::MessageKey key,
                            std::function<void(EventHub&)> emit) {
  post([this, hub = std::move(core), session, key, call = std::move(emit)] {
    // Takes the message's row first, if it was committed earlier.
    takeCommits();
    call(hub->events());
    run_.settledOutside(session, key);
  });
}

void Engine::recalledOutside(delivery::SessionKey session, delivery::MessageKey key) {
  post([this, session, key] {
    takeCommits();
    on([&](const delivery::Now& at, delivery::RunActions& actions) { run_.recalled(session, key, at, actions); });
  });
}

delivery::Now Engine::now() const {
  return {core_->clock().steadyNow(), core_->clock().wallNow()};
}

void Engine::takeCommits() {
  if (!run_.takesRows()) {
    return;
  }
  on([this](const delivery::Now& at, delivery::RunActions& actions) {
    std::list<NewCommit> commits = commits_.take();
    std::vector<delivery::CommittedRows> rows = rowsOf(commits);
    run_.committed(rows, at, actions);
  });
}

// Sets the sessions' policies and peers before the run sees their first rows.
std::vector<delivery::CommittedRows> Engine::rowsOf(std::list<NewCommit>& commits) {
  std::vector<delivery::CommittedRows> made;
  made.reserve(commits.size());
  for (NewCommit& commit : commits) {
    store::NewRows& rows = commit.rows;
    for (const delivery::SessionInfo& session : rows.sessions) {
      sessionPeers_.insert_or_assign(session.key, session.peer);
    }
    std::vector<delivery::RunPeer> peers = addPeers(rows.peers);
    policies_.introduce(rows.sessions);
    if (rows.holds) {
      watchOrders(*rows.holds);
    }
    made.push_back({.sessions = rows.sessions,
                    .rows = rows.rows,
                    .hasMore = rows.more,
                    .holds = std::move(rows.holds),
                    .recalls = rows.recalls,
                    .isShared = commit.isShared,
                    .peers = std::move(peers)});
  }
  return made;
}

void Engine::watchOrders(const delivery::HoldSnapshot& holds) {
  PeerWatch::Events events;
  for (const delivery::PeerHolds& held : holds.peers) {
    if (const auto known = peers_.find(held.record.peer); known != peers_.end()) {
      core_->peerWatch().ordered(known->second.name, held.isPaused, events);
    }
  }
  for (PeerEvent& event : events) {
    // Subscribers may do anything, so they are called after the rows were taken. The run may have ended by then.
    post([core = core_, changed = std::move(event)] { core->events().peer.emit(changed); });
  }
}

void Engine::answered(delivery::RequestId request, const SendReport& report) {
  // A second answer has no effect.
  const auto known = requests_.extract(request);
  if (known.empty()) {
    return;
  }
  if (core_ && core_->tracer().isOn()) {
    core_->tracer().requestEnded(known.mapped().span, report);
  }
  on([&](const delivery::Now& at, delivery::RunActions& actions) { run_.answered(request, report, at, actions); });
  for (const delivery::MessageKey key : known.mapped().keys) {
    policies_.settled(key);
  }
}

void Engine::perform(delivery::RunActions&& actions) {
  for (delivery::RunAction& action : actions) {
    std::visit([this](auto& one) { perform(std::move(one)); }, action);
  }
  followUp();
}

void Engine::perform(delivery::run_action::Send&& action) {
  const delivery::RequestId id = action.send.request;
  requests_.at(id).isSent = true;
  SendReport refused;
  try {
    senders_.requireUsable(peers_.at(action.send.peer).name);
    SendRequest request = requestOf(action.send);
    if (core_->tracer().isOn()) {
      requests_.at(id).span = core_->tracer().requestBegan(request);
    }
    senders_.send(std::move(request), [reply = std::make_shared<ReplyGuard<Engine>>(core_->endLock(), link_, id)](
                                          SendReport report) { reply->give(std::move(report)); });
    return;
  } catch (const std::bad_alloc&) {
    refused.outcome = RequestOutcome::notSent;
    refused.error = "not enough memory";
  } catch (const UnusablePeer& error) {
    refused.error = error.what();
  } catch (const std::exception& error) {
    refused.error = std::string("the sender threw: ") + error.what();
  } catch (...) {
    refused.error = "the sender threw";
  }
  post([this, id, refused] { answered(id, refused); });
}

SendRequest Engine::requestOf(delivery::Actions::Send& send) {
  Request& claimed = requests_.at(send.request);
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
    policies_.sending(item.key, next->frame);
    claimed.keys.push_back(item.key);
    request.frames.push_back(std::move(next->frame));
    request.frames.back().previousSequence = item.previousSequence;
  }
  claimed.messages.clear();
  return request;
}

void Engine::perform(delivery::run_action::SetTimer&& action) {
  alarms_[static_cast<std::size_t>(action.timer)]->set(action.at, [self = shared_from_this(), timer = action.timer] {
    self->on(
        [&](const delivery::Now& at, delivery::RunActions& actions) { self->run_.timerFired(timer, at, actions); });
  });
}

void Engine::perform(delivery::run_action::CancelTimer&& action) {
  alarms_[static_cast<std::size_t>(action.timer)]->cancel();
}

void Engine::perform(delivery::run_action::PublishPeers&& action) {
  const delivery::Now at = now();
  for (const delivery::PeerKey key : action.peers) {
    const auto view = run_.peer(key);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(view->limitedUntil - at.steady);
    core_->peerBoard().write(key, {.requestsInFlight = view->requestsInFlight,
                                   .readySessions = view->readySessions,
                                   .limitedUntil = wait.count() > 0 ? at.wall + wait : WallTime{},
                                   .rateLimited = view->rateLimited});
  }
}

void Engine::perform(delivery::run_action::ReportProcess&& action) {
  core_->reportRun(std::move(action.report));
}

void Engine::perform(delivery::run_action::StopSenders&& /*action*/) {
  senders_.stop();
}

void Engine::perform(delivery::run_action::Finish&& /*action*/) {
  finish();
}

void Engine::breakOff(const std::exception_ptr& thrown) noexcept {
  const bool isOver = run_.hasEnded();
  const bool isEnd = run_.breakOff(store::errorOf(thrown));
  if (!isOver && core_) {
    try {
      core_->reportProcess(true, "a delivery run ends, because something threw in it: " + whatOf(thrown));
    } catch (...) {
      // There is no memory for the report.
    }
  }
  if (isEnd) {
    finish();
  } else if (const std::shared_ptr<StepJob> step = std::exchange(committed_, nullptr)) {
    // The exception came after the commit, so the step's events must still be emitted.
    stepDone(step);
  }
}

DrainReport Engine::drained() const {
  const delivery::StepCounts& counts = run_.report().all;
  return {counts.claimed, counts.acked, counts.deferred, counts.retried, counts.failed, counts.released};
}

// Only the first call has an effect.
void Engine::finish() noexcept {
  if (!core_) {
    return;
  }
  const std::shared_ptr<Core> core = std::exchange(core_, nullptr);
  if (wakeup_) {
    wakeup_->stop();
  }
  for (const std::shared_ptr<FileWatch>& watch : {watch_, called_}) {
    if (watch) {
      watch->stop();
    }
  }
  if (signs_) {
    signs_->stop();
  }
  for (const auto& alarm : alarms_) {
    alarm->cancel();
  }
  senders_.stop();
  core->peerBoard().clear();
  const delivery::RunReport& report = run_.report();
  const StopReport done{report.abandonedRequests, report.whileStopping.released, report.whileStopping.settled()};
  try {
    // This may be the last reference to the core, which must not be destroyed inside a call from itself.
    boost::asio::post(strand_, [self = shared_from_this(), core, done] { self->ended_(done, self->failure()); });
  } catch (...) {
    ended_(done, failure());
  }
}

}  // namespace ackbox::manager
