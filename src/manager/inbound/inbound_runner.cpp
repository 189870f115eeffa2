#include "manager/inbound/inbound_runner.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <stdexcept>
#include <utility>

#include "delivery/due.hpp"
#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

// Rows read at a time, so that a large inbox does not hold the writer up.
constexpr std::size_t kRowsPerPoll = 1'000;
constexpr std::size_t kRowsPerClaim = 512;

// How long a queue holds still after the store refused a transaction.
constexpr std::chrono::milliseconds kStoreRetryPause{250};

// How late at most a frame that no consumer takes is given up.
constexpr std::chrono::minutes kAgeCheckPause{1};

/// Those of the options, and behind them that of all other types.
std::vector<reception::PoolLimits> poolsOf(const DeferredOptions& options) {
  std::vector<reception::PoolLimits> pools;
  for (const DeferredPool& pool : options.pools) {
    pools.push_back({.types = pool.types, .places = pool.concurrency, .isOnDemand = pool.demand != nullptr});
  }
  pools.push_back({.types = {"*"}, .places = options.concurrency, .isOnDemand = false});
  return pools;
}

std::unique_ptr<boost::asio::thread_pool> ownThreads(const DeferredOptions& options) {
  // One more than handlers can occupy, for the timers.
  std::size_t threads = options.concurrency + 1;
  for (const DeferredPool& pool : options.pools) {
    threads += pool.concurrency;
  }
  return options.executor ? nullptr : std::make_unique<boost::asio::thread_pool>(threads);
}

// The longest that a failed run can have to wait: by its policy, or by its handler.
std::chrono::milliseconds waitMaxOf(const RetryPolicy& retry) {
  std::chrono::milliseconds longest = *std::ranges::max_element(retry.delays);
  if (retry.backoff == Backoff::exponential) {
    longest = retry.cap;
  } else if (retry.backoff == Backoff::fixed) {
    longest = retry.base;
  }
  return std::max(longest, delivery::kWaitMax);
}

}  // namespace

InboundRunner::InboundRunner(std::shared_ptr<Core> core, FrameHandler handler, InboundOptions options)
    : core_(std::move(core)),
      handler_(std::move(handler)),
      options_(std::move(options)),
      tracer_(options_.trace, core_->log()),
      completions_(std::make_shared<InboundCompletions>(core_->writer())),
      pool_(ownThreads(options_.deferred)),
      executor_(pool_ ? boost::asio::any_io_executor(pool_->get_executor()) : *options_.deferred.executor),
      strand_(boost::asio::make_strand(executor_)),
      alarm_(core_->clock().makeAlarm(strand_)),
      machine_(poolsOf(options_.deferred)),
      hasUnwanted_(options_.deferred.pools.size(), false) {}

InboundRunner::~InboundRunner() = default;

template <typename Change>
void InboundRunner::act(Change&& change) {
  Todo todo;
  {
    const MutexLock lock(mutex_);
    openClock_.look(now());
    change(todo);
    if (!closing_) {
      claim(todo);
      noteUnwanted(todo);
      arm();
    }
    changed_.notifyAll();
  }
  for (const auto& each : todo) {
    each();
  }
}

void InboundRunner::begin() {
  const std::vector<DeferredPool>& pools = options_.deferred.pools;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (pools[pool].demand) {
      pools[pool].demand->body().attach(weak_from_this(), pool);
    }
  }
  act([this](Todo& todo) {
    mutex_.assertHeld();
    nextAgeCheck_ = core_->clock().steadyNow() + kAgeCheckPause;
    takeWishes();
    poll(todo);
  });
}

void InboundRunner::onWishes() {
  act([this](Todo&) {
    mutex_.assertHeld();
    takeWishes();
  });
}

std::vector<std::string> InboundRunner::unwantedTypes(std::size_t pool, std::size_t limit) {
  const MutexLock lock(mutex_);
  return machine_.unwantedTypes(pool, limit);
}

void InboundRunner::noteUnwanted(Todo& todo) {
  const std::vector<DeferredPool>& pools = options_.deferred.pools;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (!pools[pool].demand) {
      continue;
    }
    const bool has = machine_.hasUnwanted(pool);
    if (has && !hasUnwanted_[pool]) {
      if (std::function<void()> call = pools[pool].demand->body().onUnwanted()) {
        todo.push_back(std::move(call));
      }
    }
    hasUnwanted_[pool] = has;
  }
}

void InboundRunner::takeWishes() {
  const std::vector<DeferredPool>& pools = options_.deferred.pools;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (!pools[pool].demand) {
      continue;
    }
    for (const DeferredDemand::Body::Change& change : pools[pool].demand->body().takeChanges()) {
      if (change.isGone) {
        machine_.unwant(pool, change.wish.id);
      } else {
        machine_.want(pool, {change.wish.id, change.wish.types, change.wish.sessions, change.wish.count});
      }
    }
  }
}

void InboundRunner::lookForCommits() {
  act([this](Todo& todo) {
    mutex_.assertHeld();
    poll(todo);
  });
}

// Own rows and those of other processes are found alike: behind the place of the last look.
void InboundRunner::poll(Todo& todo) {
  if (closing_) {
    return;
  }
  if (pollUnderWay_) {
    pollAgain_ = true;
    return;
  }
  pollUnderWay_ = true;
  pollAgain_ = false;
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), after = seen_, isFirst = orders_ < 0] {
    commitDetached(
        self->core_->writer(), false,
        [after, isFirst, applications = self->options_.deferred.applications](store::Store& store) {
          if (const auto known = applications ? applications() : nullptr) {
            store.inbox().noteApplications(*known);
          }
          if (isFirst) {
            store.inbox().addHandlers(1);
          }
          if (store.owners().anyDead()) {
            store.owners().releaseDead();
          }
          return Found{store.inbox().rowsAfter(after, kRowsPerPoll), store.owners().shared(), store.inbox().orders()};
        },
        [self](const std::error_code& error, Found found) {
          self->act([&](Todo& later) {
            self->mutex_.assertHeld();
            self->polled(error, std::move(found), later);
          });
        });
  });
}

void InboundRunner::polled(const std::error_code& error, Found found, Todo& todo) {
  --jobs_;
  pollUnderWay_ = false;
  if (!error && std::exchange(orders_, found.orders) != found.orders) {
    // An operator may have ended their backoff, or taken their rows away. Which claims find out.
    machine_.endWaits();
  }
  if (!error) {
    seen_ = std::move(found.inbox.next);
  }
  for (const store::InboxPlace& row : found.inbox.rows) {
    machine_.arrived({.key = row.key,
                      .sender = row.source,
                      .queue = row.queue,
                      .session = row.session,
                      .type = row.type,
                      .acceptedAt = row.acceptedAt});
  }
  isCaughtUp_ = isCaughtUp_ || (!error && found.inbox.rows.size() < kRowsPerPoll);
  const OutboxOptions& outbox = core_->options();
  const auto interval = found.shared ? outbox.sharedPollInterval : outbox.pollInterval;
  nextPoll_ = core_->clock().steadyNow() + (error ? kStoreRetryPause : interval);
  if (!error && (pollAgain_ || found.inbox.rows.size() == kRowsPerPoll)) {
    poll(todo);
  }
}

std::vector<InboundRunner::Claimed> InboundRunner::nextClaims(std::size_t limit) {
  std::vector<reception::Turn> turns = machine_.takeTurns(limit);
  const delivery::Now present = now();
  if (present.steady >= nextAgeCheck_ && turns.size() < limit) {
    const std::size_t room = limit - turns.size();
    const auto overdue = machine_.takeOverdue(
        [&](WallTime acceptedAt) {
          mutex_.assertHeld();
          return isOld(acceptedAt, present);
        },
        room);
    nextAgeCheck_ = overdue.size() == room ? nextAgeCheck_ : present.steady + kAgeCheckPause;
    turns.insert(turns.end(), overdue.begin(), overdue.end());
  }
  std::vector<Claimed> claims;
  for (const reception::Turn& turn : turns) {
    claims.push_back({turn});
  }
  return claims;
}

// The writer adds what has its turn when it comes to the job.
void InboundRunner::claim(Todo& todo) {
  if (claimUnderWay_ || !isCaughtUp_) {
    return;
  }
  std::vector<Claimed> wanted = nextClaims(kRowsPerClaim);
  if (wanted.empty()) {
    return;
  }
  claimUnderWay_ = true;
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), claims = std::make_shared<std::vector<Claimed>>(std::move(wanted))] {
    commitDetached(
        self->core_->writer(), false,
        [self, claims, waitMax = waitMaxOf(self->options_.deferred.retry)](store::Store& store) {
          self->addClaims(*claims);
          std::vector<store::InboxKey> keys;
          keys.reserve(claims->size());
          for (const Claimed& one : *claims) {
            keys.push_back(one.turn.key);
          }
          std::vector<store::InboxClaim> replies = store.inbox().claim(keys, waitMax);
          for (std::size_t index = 0; index < keys.size(); ++index) {
            (*claims)[index].reply = std::move(replies[index]);
          }
          return 0;
        },
        [self, claims](const std::error_code& error, int) {
          self->act([&](Todo& later) {
            self->mutex_.assertHeld();
            self->claimed(error, std::move(*claims), later);
          });
        });
  });
}

void InboundRunner::addClaims(std::vector<Claimed>& claims) {
  const MutexLock lock(mutex_);
  if (!closing_ && claims.size() < kRowsPerClaim) {
    const std::vector<Claimed> more = nextClaims(kRowsPerClaim - claims.size());
    claims.insert(claims.end(), more.begin(), more.end());
  }
}

void InboundRunner::claimed(const std::error_code& error, std::vector<Claimed> claims, Todo& todo) {
  using Kind = store::InboxClaim::Kind;
  --jobs_;
  claimUnderWay_ = false;
  for (Claimed& one : claims) {
    if (!error && one.reply.kind == Kind::taken) {
      taken(one.turn, std::move(one.reply.row), todo);
      continue;
    }
    machine_.placeFreed(one.turn);
    if (error) {
      park(one.turn.queue, kStoreRetryPause);
    } else if (one.reply.kind == Kind::gone) {
      advance(one.turn.queue, {.kind = InboxEnd::Kind::finished, .dueAt = {}});
    } else if (one.reply.kind == Kind::busy) {
      park(one.turn.queue, core_->options().sharedPollInterval);
    } else {
      advance(one.turn.queue, {.kind = InboxEnd::Kind::retried, .dueAt = one.reply.dueAt});
    }
  }
}

void InboundRunner::taken(const reception::Turn& turn, store::InboxRow row, Todo& todo) {
  const auto shared = std::make_shared<const store::InboxRow>(std::move(row));
  if (closing_) {
    // It stays this store's in the file until that is closed, or the next handler of this process claims it.
    machine_.placeFreed(turn);
    todo.emplace_back([self = shared_from_this(), key = shared->key] {
      commitDetached(
          self->core_->writer(), false,
          [key](store::Store& store) {
            store.inbox().release({&key, 1});
            return 0;
          },
          [](const std::error_code&, int) {});
    });
  } else if (turn.isOverdue) {
    giveUp(turn, shared, todo);
  } else if (shared->deferred && !shared->isDamaged) {
    start(turn, shared, todo);
  } else {
    firstLook(turn, shared, todo);
  }
}

// A frame that waited behind a deferred one: its handler may take it at once, as it would have on arrival.
void InboundRunner::firstLook(const reception::Turn& turn, const Row& row, Todo& todo) {
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), turn, row] {
    self->submit(
        row,
        [self, row](InboundTransaction& transaction) {
          return self->tracer_.aroundHandling(row->frame, [&] { return self->handler_(row->frame, transaction); });
        },
        {.mayDefer = true},
        [self, turn, row](const InboxEnd& end) {
          self->act([&](Todo& later) {
            self->mutex_.assertHeld();
            --self->jobs_;
            if (end.kind == InboxEnd::Kind::deferred && !self->closing_) {
              self->start(turn, row, later);
              return;
            }
            self->machine_.placeFreed(turn);
            self->advance(turn.queue, end);
          });
        });
  });
}

void InboundRunner::giveUp(const reception::Turn& turn, const Row& row, Todo& todo) {
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), turn, row] {
    self->submit(
        row, [](InboundTransaction&) { return HandlerResult::notNow("no application took it"); },
        {.isGivenBack = true, .pause = kStoreRetryPause},
        [self, turn](const InboxEnd& end) {
          self->act([&](Todo&) {
            self->mutex_.assertHeld();
            --self->jobs_;
            self->machine_.placeFreed(turn);
            self->advance(turn.queue, end);
          });
        });
  });
}

void InboundRunner::start(const reception::Turn& turn, const Row& row, Todo& todo) {
  auto run = std::make_shared<InboxRun>(++lastRun_, turn, row);
  active_.emplace(run->id, Active{run, false, false, std::nullopt, false});
  todo.emplace_back([self = shared_from_this(), run] {
    boost::asio::post(self->executor_, [self, run, handle = std::make_shared<DeferredFrame::Body>(self, run)] {
      // The handle is held here too, so that an exception is the run's end before the loss of the handle is.
      self->callHandler(DeferredFrame(handle), run);
    });
  });
}

void InboundRunner::callHandler(DeferredFrame frame, const std::shared_ptr<InboxRun>& run) {
  // Before its deadline runs, which may end it from another thread.
  if (tracer_.isOn() && !run->stopRequested) {
    run->span = tracer_.handlingBegan(run->row->frame, true);
    run->isTraced = true;
  }
  if (!progress(*run)) {
    return;
  }
  std::string what = "an exception of an unknown type";
  try {
    options_.deferred.handler(std::move(frame));
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    // Said above.
  }
  complete(run, [what](InboundTransaction&) -> HandlerResult { throw std::runtime_error(what); }, {});
}

bool InboundRunner::progress(InboxRun& run) {
  if (run.stopRequested) {
    return false;
  }
  const SteadyTime deadline = core_->clock().steadyNow() + options_.deferred.timeout;
  run.deadline = deadline;
  act([&](Todo&) {
    mutex_.assertHeld();
    nextDeadline_ = std::min(nextDeadline_, deadline);
  });
  return true;
}

bool InboundRunner::complete(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || run->answered.exchange(true)) {
      return false;
    }
    ++jobs_;
  }
  submitRun(run, std::move(effects), std::move(done));
  return true;
}

bool InboundRunner::giveBack(const std::shared_ptr<InboxRun>& run, std::string reason,
                             std::chrono::milliseconds pause) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || run->answered.exchange(true)) {
      return false;
    }
    ++jobs_;
  }
  submitEnd(run, [answer = HandlerResult::notNow(std::move(reason))](InboundTransaction&) { return answer; },
            {.isGivenBack = true, .pause = pause}, {});
  return true;
}

void InboundRunner::dropped(const std::shared_ptr<InboxRun>& run) {
  act([&](Todo& todo) {
    mutex_.assertHeld();
    const auto place = active_.find(run->id);
    if (place == active_.end()) {
      return;
    }
    machine_.placeFreed(run->turn);
    place->second.dropped = true;
    if (!closed_ && !run->answered.exchange(true)) {
      failLater(run, "the handler ended without an answer", todo);
    } else {
      advanceIfOver(run->id);
    }
  });
}

void InboundRunner::failLater(const std::shared_ptr<InboxRun>& run, const char* problem, Todo& todo) {
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), run, problem] {
    self->submitRun(run,
                    [run, problem](InboundTransaction&) {
                      if (!run->interrupted()) {
                        throw std::runtime_error(problem);
                      }
                      return HandlerResult::notNow();
                    },
                    {});
  });
}

// A run that was asked to stop by a shutdown is not at fault for what it left undone.
void InboundRunner::submitRun(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done) {
  submitEnd(run, std::move(effects), {.interrupted = run->interrupted()}, std::move(done));
}

void InboundRunner::submitEnd(const std::shared_ptr<InboxRun>& run, DeferredEffects effects,
                              InboundCompletion::Kind kind, DeferredDone done) {
  submit(run->row, run->isTraced ? noting(run, std::move(effects)) : std::move(effects), kind,
         [self = shared_from_this(), run, done = std::move(done)](const InboxEnd& end) {
           self->traceEnd(*run, end);
           if (done) {
             done(end.kind != InboxEnd::Kind::lost && end.kind != InboxEnd::Kind::failed);
           }
           self->act([&](Todo&) {
             self->mutex_.assertHeld();
             --self->jobs_;
             if (const auto place = self->active_.find(run->id); place != self->active_.end()) {
               place->second.end = end;
               self->advanceIfOver(run->id);
             }
           });
         });
}

DeferredEffects InboundRunner::noting(const std::shared_ptr<InboxRun>& run, DeferredEffects effects) {
  return [run, effects = std::move(effects)](InboundTransaction& transaction) {
    const auto note = [&run](const char* what) {
      const TracedDecision thrown = Tracer::thrown(what);
      run->decision = HandlerResult::notNow(std::string(thrown.error));
      run->decision->code = thrown.code;
    };
    try {
      run->decision = effects(transaction);
      return *run->decision;
    } catch (const std::exception& error) {
      note(error.what());
      throw;
    } catch (...) {
      note("an exception of an unknown type");
      throw;
    }
  };
}

void InboundRunner::traceEnd(const InboxRun& run, const InboxEnd& end) const noexcept {
  if (!run.isTraced) {
    return;
  }
  const bool isCommitted = run.decision && end.kind != InboxEnd::Kind::lost && end.kind != InboxEnd::Kind::failed;
  tracer_.handlingEnded(run.span, isCommitted ? Tracer::decisionOf(*run.decision)
                                              : TracedDecision{.outcome = Outcome::nack, .code = "not-committed"});
}

void InboundRunner::submit(const Row& row, DeferredEffects effects, InboundCompletion::Kind kind,
                           std::function<void(const InboxEnd&)> ended) {
  completions_->add(std::make_unique<InboundCompletion>(
      ScopeContext{core_->options(), options_, core_->tracer()}, core_->log(), row, std::move(effects), kind,
      [self = shared_from_this()](WallTime acceptedAt) { return self->isPastHorizon(acceptedAt); }, std::move(ended)));
}

bool InboundRunner::isPastHorizon(WallTime acceptedAt) {
  const MutexLock lock(mutex_);
  const delivery::Now present = now();
  openClock_.look(present);
  return isOld(acceptedAt, present);
}

bool InboundRunner::isOld(WallTime acceptedAt, const delivery::Now& present) const {
  return openClock_.hasPassed(options_.deferred.retry.horizon, acceptedAt, delivery::kHorizonGrace, present);
}

// One at a time per session: the next one starts when this one is settled and its handler has let go of it, or has
// outlived its deadline.
void InboundRunner::advanceIfOver(std::uint64_t id) {
  const auto place = active_.find(id);
  Active& active = place->second;
  if (!active.end) {
    return;
  }
  if (!active.advanced && (active.dropped || active.expired)) {
    active.advanced = true;
    advance(active.run->turn.queue, *active.end);
  }
  if (active.dropped) {
    active_.erase(place);
  }
}

void InboundRunner::advance(reception::QueueNumber queue, const InboxEnd& end) {
  switch (end.kind) {
    case InboxEnd::Kind::finished:
      machine_.headEnded(queue);
      return;
    case InboxEnd::Kind::retried:
      park(queue, delivery::boundedWait(end.dueAt - core_->clock().wallNow()));
      return;
    case InboxEnd::Kind::released:
      if (end.pause.count() <= 0) {
        machine_.headReady(queue);
      } else {
        park(queue, end.pause);
      }
      return;
    case InboxEnd::Kind::lost:
      park(queue, core_->options().sharedPollInterval);
      return;
    case InboxEnd::Kind::deferred:
    case InboxEnd::Kind::failed:
      park(queue, kStoreRetryPause);
      return;
  }
}

void InboundRunner::park(reception::QueueNumber queue, std::chrono::milliseconds wait) {
  machine_.headWaits(queue, core_->clock().steadyNow() + wait);
}

void InboundRunner::onWake() {
  act([this](Todo& todo) {
    mutex_.assertHeld();
    armedFor_ = SteadyTime::max();
    const SteadyTime now = core_->clock().steadyNow();
    machine_.timePassed(now);
    expire(now, todo);
    if (now >= nextPoll_) {
      poll(todo);
    }
  });
}

void InboundRunner::expire(SteadyTime now, Todo& todo) {
  if (now < nextDeadline_) {
    return;
  }
  nextDeadline_ = SteadyTime::max();
  for (auto& [id, active] : active_) {
    const SteadyTime deadline = active.run->deadline;
    if (deadline > now) {
      nextDeadline_ = active.run->answered ? nextDeadline_ : std::min(nextDeadline_, deadline);
    } else if (!active.run->answered.exchange(true)) {
      active.expired = true;
      active.run->expired = true;
      active.run->stopRequested = true;
      failLater(active.run, "the handler's deadline has passed", todo);
    }
  }
}

void InboundRunner::arm() {
  SteadyTime wake = pollUnderWay_ ? SteadyTime::max() : nextPoll_;
  wake = std::min({wake, machine_.nextDue(), nextDeadline_});
  if (wake >= armedFor_) {
    return;
  }
  armedFor_ = wake;
  boost::asio::post(strand_, [self = shared_from_this(), wake] {
    if (self->alarm_) {
      self->alarm_->set(wake, [weak = self->weak_from_this()] {
        if (const auto awake = weak.lock()) {
          awake->onWake();
        }
      });
    }
  });
}

void InboundRunner::close() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    for (auto& [id, active] : active_) {
      active.run->stopRequested = true;
    }
  }
  awaitQuiet();
  freeRows();
  if (pool_) {
    pool_->join();
  }
}

// Runs on a caller's executor may need the thread that waits here, so only those on own threads are waited for; a
// handle that was kept beyond its handler, no longer than a stop may last.
void InboundRunner::awaitQuiet() {
  constexpr std::chrono::milliseconds kGlance{10};
  const SteadyTime patience = core_->clock().steadyNow() + core_->options().stopTimeout;
  while (true) {
    while (core_->writer().help()) {
    }
    const MutexLock lock(mutex_);
    if (!isQuiet(patience)) {
      // In glances: the writer's work may be the waiter's to do.
      changed_.waitFor(mutex_, kGlance);
    }
    if (isQuiet(patience)) {
      closed_ = true;
      return;
    }
  }
}

bool InboundRunner::isQuiet(SteadyTime patience) const {
  const bool waitsForRuns = pool_ && core_->clock().steadyNow() < patience;
  const bool runs =
      std::any_of(active_.begin(), active_.end(), [](const auto& one) { return !one.second.run->answered; });
  return jobs_ == 0 && !(waitsForRuns && runs);
}

void InboundRunner::freeRows() {
  std::vector<store::InboxKey> keys;
  bool isCounted = false;
  {
    const MutexLock lock(mutex_);
    isCounted = orders_ >= 0;
    for (const auto& [id, active] : active_) {
      keys.push_back(active.run->row->key);
    }
  }
  try {
    // Without keys as well: what the writer has done for the runner is destroyed by then, and nothing of it outlives
    // the executor, which may end when its handler has.
    commitBlocking(core_->writer(), false, [&](store::Store& store) {
      store.inbox().release(keys);
      if (isCounted) {
        store.inbox().addHandlers(-1);
      }
      return 0;
    });
  } catch (const Error&) {
    // They are free when the file is closed, or when the next process to open it finds this one gone.
  }
}

}  // namespace ackbox::manager
