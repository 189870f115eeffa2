#include "manager/inbound/inbound_runner.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/pattern.hpp"
#include "delivery/due.hpp"
#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

// Rows read at a time, so that a large inbox does not hold the writer up.
constexpr std::size_t kRowsPerPoll = 1'000;
constexpr std::size_t kRowsPerClaim = 64;

// How long a queue holds still after the store refused a transaction.
constexpr std::chrono::milliseconds kStoreRetryPause{250};

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
      pool_(ownThreads(options_.deferred)),
      executor_(pool_ ? boost::asio::any_io_executor(pool_->get_executor()) : *options_.deferred.executor),
      strand_(boost::asio::make_strand(executor_)),
      alarm_(core_->clock().makeAlarm(strand_)) {
  for (const DeferredPool& pool : options_.deferred.pools) {
    pools_.push_back({.max = pool.concurrency});
  }
  pools_.push_back({.max = options_.deferred.concurrency});
}

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
      arm();
    }
    changed_.notifyAll();
  }
  for (const auto& each : todo) {
    each();
  }
}

void InboundRunner::begin() {
  lookForCommits();
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
    for (auto& [due, queue] : std::exchange(parked_, {})) {
      makeReady(queue);
    }
  }
  if (!error) {
    seen_ = std::move(found.inbox.next);
  }
  for (store::InboxPlace& row : found.inbox.rows) {
    Queue& queue = queues_[row.queue];
    queue.places.push_back({row.key, poolOf(row.type)});
    if (queue.places.size() == 1) {
      makeReady(std::move(row.queue));
    }
  }
  const OutboxOptions& outbox = core_->options();
  const auto interval = found.shared ? outbox.sharedPollInterval : outbox.pollInterval;
  nextPoll_ = core_->clock().steadyNow() + (error ? kStoreRetryPause : interval);
  if (!error && (pollAgain_ || found.inbox.rows.size() == kRowsPerPoll)) {
    poll(todo);
  }
}

void InboundRunner::makeReady(std::string queue) {
  const std::size_t pool = queues_.at(queue).places.front().pool;
  pools_[pool].ready.push_back(std::move(queue));
}

std::size_t InboundRunner::poolOf(std::string_view type) const {
  const std::vector<DeferredPool>& pools = options_.deferred.pools;
  const auto found = std::ranges::find_if(pools, [type](const DeferredPool& pool) {
    return std::ranges::any_of(pool.types, [type](const std::string& each) { return fitsPattern(each, type); });
  });
  return static_cast<std::size_t>(found - pools.begin());
}

// One of each pool in turn, so that none waits for a pool that always has more.
void InboundRunner::claim(Todo& todo) {
  if (claimUnderWay_) {
    return;
  }
  std::vector<Claimed> wanted;
  std::size_t idle = 0;
  while (idle < pools_.size() && wanted.size() < kRowsPerClaim) {
    ++idle;
    Pool& pool = pools_[nextPool_];
    nextPool_ = (nextPool_ + 1) % pools_.size();
    if (pool.slots < pool.max && !pool.ready.empty()) {
      wanted.push_back({pool.ready.front(), queues_.at(pool.ready.front()).places.front(), {}});
      pool.ready.pop_front();
      ++pool.slots;
      idle = 0;
    }
  }
  if (wanted.empty()) {
    return;
  }
  claimUnderWay_ = true;
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), asked = std::move(wanted)]() mutable {
    auto claims = std::make_shared<std::vector<Claimed>>(std::move(asked));
    commitDetached(
        self->core_->writer(), false,
        [claims, waitMax = waitMaxOf(self->options_.deferred.retry)](store::Store& store) {
          for (Claimed& one : *claims) {
            one.reply = store.inbox().claim(one.place.key, waitMax);
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

void InboundRunner::claimed(const std::error_code& error, std::vector<Claimed> claims, Todo& todo) {
  using Kind = store::InboxClaim::Kind;
  --jobs_;
  claimUnderWay_ = false;
  for (Claimed& one : claims) {
    if (!error && one.reply.kind == Kind::taken) {
      taken(one.queue, one.place.pool, std::move(one.reply.row), todo);
      continue;
    }
    --pools_[one.place.pool].slots;
    if (error) {
      park(one.queue, kStoreRetryPause);
    } else if (one.reply.kind == Kind::gone) {
      advance(one.queue, {.kind = InboxEnd::Kind::finished, .dueAt = {}});
    } else if (one.reply.kind == Kind::busy) {
      park(one.queue, core_->options().sharedPollInterval);
    } else {
      advance(one.queue, {.kind = InboxEnd::Kind::retried, .dueAt = one.reply.dueAt});
    }
  }
}

void InboundRunner::taken(const std::string& queue, std::size_t pool, store::InboxRow row, Todo& todo) {
  const auto shared = std::make_shared<const store::InboxRow>(std::move(row));
  if (closing_) {
    // It stays this store's in the file until that is closed, or the next handler of this process claims it.
    --pools_[pool].slots;
    todo.emplace_back([self = shared_from_this(), key = shared->key] {
      commitDetached(
          self->core_->writer(), false,
          [key](store::Store& store) {
            store.inbox().release(key);
            return 0;
          },
          [](const std::error_code&, int) {});
    });
  } else if (shared->deferred && !shared->isDamaged) {
    start(queue, pool, shared, todo);
  } else {
    firstLook(queue, pool, shared, todo);
  }
}

// A frame that waited behind a deferred one: its handler may take it at once, as it would have on arrival.
void InboundRunner::firstLook(const std::string& queue, std::size_t pool, const Row& row, Todo& todo) {
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), queue, pool, row] {
    self->submit(
        row,
        [self, row](InboundTransaction& transaction) {
          return self->tracer_.aroundHandling(row->frame, [&] { return self->handler_(row->frame, transaction); });
        },
        {.mayDefer = true, .interrupted = false},
        [self, queue, pool, row](const InboxEnd& end) {
          self->act([&](Todo& later) {
            self->mutex_.assertHeld();
            --self->jobs_;
            if (end.kind == InboxEnd::Kind::deferred && !self->closing_) {
              self->start(queue, pool, row, later);
              return;
            }
            --self->pools_[pool].slots;
            self->advance(queue, end);
          });
        });
  });
}

void InboundRunner::start(const std::string& queue, std::size_t pool, const Row& row, Todo& todo) {
  auto run = std::make_shared<InboxRun>(++lastRun_, queue, pool, row);
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

void InboundRunner::dropped(const std::shared_ptr<InboxRun>& run) {
  act([&](Todo& todo) {
    mutex_.assertHeld();
    const auto place = active_.find(run->id);
    if (place == active_.end()) {
      return;
    }
    --pools_[run->pool].slots;
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
  submit(run->row, run->isTraced ? noting(run, std::move(effects)) : std::move(effects),
         {.mayDefer = false, .interrupted = run->interrupted()},
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
  auto job = std::make_unique<InboundCompletion>(
      ScopeContext{core_->options(), options_, core_->tracer()}, core_->log(), row, std::move(effects), kind,
      [self = shared_from_this()](WallTime acceptedAt) { return self->isPastHorizon(acceptedAt); }, std::move(ended));
  core_->writer().submit(*job.release());
}

bool InboundRunner::isPastHorizon(WallTime acceptedAt) {
  const MutexLock lock(mutex_);
  const delivery::Now present = now();
  openClock_.look(present);
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
    advance(active.run->queue, *active.end);
  }
  if (active.dropped) {
    active_.erase(place);
  }
}

void InboundRunner::advance(const std::string& queue, const InboxEnd& end) {
  const auto place = queues_.find(queue);
  switch (end.kind) {
    case InboxEnd::Kind::finished:
      place->second.places.pop_front();
      if (place->second.places.empty()) {
        queues_.erase(place);
      } else {
        makeReady(queue);
      }
      return;
    case InboxEnd::Kind::retried: {
      const auto wait = delivery::boundedWait(end.dueAt - core_->clock().wallNow());
      park(queue, wait);
      return;
    }
    case InboxEnd::Kind::lost:
      park(queue, core_->options().sharedPollInterval);
      return;
    case InboxEnd::Kind::released:
    case InboxEnd::Kind::deferred:
    case InboxEnd::Kind::failed:
      park(queue, kStoreRetryPause);
      return;
  }
}

void InboundRunner::park(const std::string& queue, std::chrono::milliseconds wait) {
  parked_.emplace(core_->clock().steadyNow() + wait, queue);
}

void InboundRunner::onWake() {
  act([this](Todo& todo) {
    mutex_.assertHeld();
    armedFor_ = SteadyTime::max();
    const SteadyTime now = core_->clock().steadyNow();
    while (!parked_.empty() && parked_.begin()->first <= now) {
      makeReady(std::move(parked_.begin()->second));
      parked_.erase(parked_.begin());
    }
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
  if (!parked_.empty()) {
    wake = std::min(wake, parked_.begin()->first);
  }
  wake = std::min(wake, nextDeadline_);
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
      for (const store::InboxKey key : keys) {
        store.inbox().release(key);
      }
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
