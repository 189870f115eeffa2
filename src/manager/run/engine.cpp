#include "manager/run/engine.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <new>
#include <utility>

#include "manager/facade/jobs.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::manager {

// A run that gives up does not wait for its senders. A sender that lets go of its word without giving it, such as one
// in which something threw, has failed at that request, and nobody waits for it.
struct Engine::Word {
  Word(std::shared_ptr<std::shared_mutex> gate, std::shared_ptr<RunLink<Engine>> door, delivery::RequestId request)
      : link(std::move(gate), std::move(door)), id(request) {}
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;
  ~Word() {
    try {
      SendReport lost;
      lost.error = "the sender let go of the request without an answer";
      give(std::move(lost));
    } catch (...) {
      // Without the memory to say so, the request stays under way until the run ends.
      return;
    }
  }

  // The first is heard.
  void give(SendReport&& report) {
    link.enter([&report](const Engine&) { return std::move(report); },
               [request = id](Engine& engine, const SendReport& told) { engine.answered(request, told); });
  }

  RunHandoff<Engine> link;
  const delivery::RequestId id;
};

Engine::Engine(std::shared_ptr<Core> core, std::shared_ptr<Sender> sender, boost::asio::any_io_executor strand,
               RunMode mode, RunThread thread)
    : strand_(std::move(strand)),
      mode_(mode),
      thread_(thread),
      senders_(core->options().peers, std::move(sender)),
      core_(std::move(core)),
      policies_(core_->options()),
      machine_(machineOptions(), core_->random()),
      health_(core_->options().health),
      wakeAlarm_(core_->clock().makeAlarm(strand_)),
      pollAlarm_(core_->clock().makeAlarm(strand_)),
      pauseAlarm_(core_->clock().makeAlarm(strand_)),
      stopAlarm_(core_->clock().makeAlarm(strand_)) {}

delivery::MachineOptions Engine::machineOptions() {
  delivery::MachineOptions made = policies_.machineOptions();
  // Who drains by hand decides himself when to ask again.
  made.restoresHealth = mode_ == RunMode::continuous;
  if (mode_ != RunMode::continuous) {
    // A pass has no time to wait in; the next one would have none either.
    made.horizonGrace = std::chrono::milliseconds(0);
  }
  return made;
}

void Engine::begin(Ended ended) {
  door_->engine = weak_from_this();
  openWakeup();
  boost::asio::post(strand_, [self = shared_from_this(), call = std::move(ended)]() mutable {
    self->ended_ = std::move(call);
    self->machine_.setClaiming(self->mode_ != RunMode::once);
    self->senders_.start(self->strand_);
    self->watchNeighbours();
    self->discover();
  });
}

// On the manager's own thread only: another executor may be one that waits for no descriptors.
void Engine::openWakeup() {
  if (thread_ != RunThread::own) {
    return;
  }
  auto bell = std::make_shared<Wakeup>(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->takeIn();
    }
  });
  if (bell->open()) {
    wakeup_ = std::move(bell);
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
      [link = handoff()](const std::error_code& error, std::vector<store::PeerRow> peers) {
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

std::shared_ptr<RunHandoff<Engine>> Engine::handoff() {
  return std::make_shared<RunHandoff<Engine>>(core_->gate(), shared_from_this());
}

// In the thread that has committed. The commit's failure, or that of reading the news.
std::error_code Engine::queueNews(const std::error_code& error) noexcept {
  if (error) {
    return error;
  }
  try {
    news_.add(CommitQueue::WhenEmpty::keep, [this] { return core_->takeNews(); });
    return {};
  } catch (...) {
    return store::errorOf(std::current_exception());
  }
}

void Engine::wake() {
  if (wakeup_) {
    wakeup_->ring();
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
      policies_.addPeer(row.key, row.name);
      machine_.peerAdded(row.key, found->maxRequests, senders_.initialCredit(row.name), found->rateLimit);
      machine_.peerKnown(row.key, row.store, row.storeEpoch);
    }
  }
  begun_ = true;
  takeIn();
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

delivery::Now Engine::now() const {
  return {core_->clock().steadyNow(), core_->clock().wallNow()};
}

void Engine::onNews(News&& news, delivery::Actions& actions) {
  shared_ = news.shared;
  store::NewRows& rows = news.rows;
  for (const delivery::SessionInfo& session : rows.sessions) {
    sessionPeers_.insert_or_assign(session.key, session.peer);
  }
  policies_.introduce(rows.sessions);
  if (rows.holds) {
    machine_.applyHolds(*rows.holds, now(), actions);
    if (stepUnderWay_) {
      rows.holds->peers.clear();
      holds_ = std::move(rows.holds);
    }
  }
  machine_.rowsSeen(rows.sessions, rows.rows, now(), actions, rows.recalls);
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

void Engine::tick() {
  if (finished_) {
    return;
  }
  delivery::Actions actions;
  machine_.tick(now(), actions);
  perform(std::move(actions));
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
    policies_.sending(item.key, next->frame);
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
      senders_.send(std::move(request), [word = std::make_shared<Word>(core_->gate(), door_, id)](SendReport report) {
        word->give(std::move(report));
      });
      return;
    } catch (const std::bad_alloc&) {
      refused.outcome = RequestOutcome::notSent;
      refused.error = "not enough memory";
    } catch (const std::exception& error) {
      refused.error = std::string("the sender threw: ") + error.what();
    } catch (...) {
      refused.error = "the sender threw";
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
  tellOfShortage(report);
  delivery::Actions actions;
  machine_.answered(request, report, now(), actions);
  for (const delivery::MessageKey key : known.mapped().keys) {
    policies_.settled(key);
  }
  perform(std::move(actions));
}

// Once when it begins, and once when requests have been answered for a while without it.
void Engine::tellOfShortage(const SendReport& report) {
  const bool isShort = report.outcome == RequestOutcome::notSent;
  const SteadyTime at = now().steady;
  if (isShort) {
    shortAt_ = at;
  }
  const bool isOver = report.outcome == RequestOutcome::answered && at - shortAt_ >= kShortageOver;
  if (isShort == isShort_ || (!isShort && !isOver)) {
    return;
  }
  isShort_ = isShort;
  tellOfProcess(isShort, isShort ? "this process cannot send: " + report.error : "this process can send again");
}

// Nothing else shows why messages are older by the calendar than by the count of their horizon.
void Engine::tellOfCalendar() {
  const delivery::Now at = now();
  const auto offset =
      at.wall.time_since_epoch() - std::chrono::floor<std::chrono::milliseconds>(at.steady.time_since_epoch());
  const auto moved = offset - calendarOffset_.value_or(offset);
  calendarOffset_ = offset;
  if (moved >= kCalendarMoved || moved <= -kCalendarMoved) {
    tellOfProcess(true, "the calendar was moved by " +
                            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(moved).count()) +
                            " s while this run went on; no message is given up by its age for that");
  }
}

void Engine::tellOfProcess(bool isRaised, std::string sentence) {
  HealthEvent event;
  event.check = HealthCheck::process;
  event.raised = isRaised;
  event.value = isRaised ? 1 : 0;
  event.threshold = 1;
  event.at = now().wall;
  event.sentence = std::move(sentence);
  core_->events().health.emit(event);
}

void Engine::wakeLater() {
  const std::optional<SteadyTime> wake = machine_.nextWake();
  if (wake && !stopping_ && mode_ == RunMode::continuous) {
    wakeAlarm_->set(*wake, [self = shared_from_this()] { self->tick(); });
  } else {
    wakeAlarm_->cancel();
  }
}

bool Engine::needsStore(const delivery::Actions& actions) {
  return !actions.news.empty() || !actions.settlements.empty() || !actions.releases.empty() || !actions.peers.empty() ||
         !actions.claims.empty();
}

}  // namespace ackbox::manager
