#include "manager/inbound/inbound_runner.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

// Rows read at a time, so that a large inbox does not delay the writer.
constexpr std::size_t kRowsPerPoll = 1'000;

/// The pools of the options, followed by the pool of all other types.
std::vector<reception::PoolLimits> poolsOf(const DeferredOptions& options) {
  std::vector<reception::PoolLimits> pools;
  for (const DeferredPool& pool : options.pools) {
    pools.push_back({.types = pool.types,
                     .places = pool.concurrency,
                     .ownPlaces = pool.wishConcurrency,
                     .isOnDemand = pool.demand != nullptr});
  }
  pools.push_back({.types = {"*"}, .places = options.concurrency, .isOnDemand = false});
  if (!options.mailboxes.agents.empty()) {
    pools.push_back({.places = options.mailboxes.concurrency,
                     .ownPlaces = options.mailboxes.wishConcurrency,
                     .isOnDemand = true,
                     .isForMailboxes = true});
  }
  return pools;
}

/// The demands of the pools on demand, by the pools' numbers.
std::vector<std::pair<std::size_t, DeferredDemand*>> demandsOf(const DeferredOptions& options) {
  std::vector<std::pair<std::size_t, DeferredDemand*>> demands;
  for (std::size_t pool = 0; pool < options.pools.size(); ++pool) {
    if (options.pools[pool].demand) {
      demands.emplace_back(pool, options.pools[pool].demand.get());
    }
  }
  if (!options.mailboxes.agents.empty()) {
    demands.emplace_back(options.pools.size() + 1, options.mailboxes.demand.get());
  }
  return demands;
}

std::unique_ptr<boost::asio::thread_pool> ownThreads(const DeferredOptions& options) {
  // One thread more than handlers can occupy, for the timers.
  std::size_t threads = options.concurrency + 1;
  for (const DeferredPool& pool : options.pools) {
    threads += pool.concurrency;
  }
  return options.executor ? nullptr : std::make_unique<boost::asio::thread_pool>(threads);
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

void InboundRunner::begin() {
  for (const auto& [pool, demand] : demandsOf(options_.deferred)) {
    demand->impl().attach(weak_from_this(), pool);
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

reception::MailboxFill InboundRunner::mailboxFill(const std::string& agent, const std::string& sender) {
  const MutexLock lock(mutex_);
  return machine_.fillOf(agent, sender);
}

void InboundRunner::noteUnwanted(Todo& todo) {
  const std::vector<DeferredPool>& pools = options_.deferred.pools;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (!pools[pool].demand) {
      continue;
    }
    const bool has = machine_.hasUnwanted(pool);
    if (has && !hasUnwanted_[pool]) {
      if (std::function<void()> call = pools[pool].demand->impl().onUnwanted()) {
        todo.push_back(std::move(call));
      }
    }
    hasUnwanted_[pool] = has;
  }
}

void InboundRunner::takeWishes() {
  for (const auto& [pool, demand] : demandsOf(options_.deferred)) {
    for (const DeferredDemand::Impl::Change& change : demand->impl().takeChanges()) {
      const DeferredWish& wish = change.wish;
      if (change.isGone) {
        machine_.unwant(pool, wish.id);
      } else {
        machine_.want(pool, {wish.id, wish.types, wish.sessions, wish.count, wish.mailbox});
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

// Finds the rows of this process and of others in the same way: after the position of the last look.
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
  todo.emplace_back([self = shared_from_this(), after = seen_, isFirst = operatorChanges_ < 0] {
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
          return Found{store.inbox().rowsAfter(after, kRowsPerPoll), store.owners().shared(),
                       store.inbox().operatorChanges()};
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
  if (!error && std::exchange(operatorChanges_, found.operatorChanges) != found.operatorChanges) {
    // An operator may have ended backoffs, or removed rows. Claims find out which.
    machine_.endWaits();
    mayHaveGone_ = true;
  }
  lookForGone(todo);
  // The rows of a failed transaction are read again, so taking them now would add them twice.
  if (!error) {
    seen_ = std::move(found.inbox.next);
    for (const store::InboxPlace& row : found.inbox.rows) {
      machine_.arrived({.key = row.key,
                        .sender = row.source,
                        .queue = row.queue,
                        .session = row.session,
                        .mailbox = row.mailbox,
                        .type = row.type,
                        .acceptedAt = row.acceptedAt,
                        .expiresAt = row.expiresAt.value_or(WallTime::max())});
    }
  }
  isCaughtUp_ = isCaughtUp_ || (!error && found.inbox.rows.size() < kRowsPerPoll);
  const OutboxOptions& outbox = core_->options();
  const auto interval = found.shared ? outbox.sharedPollInterval : outbox.pollInterval;
  nextPoll_ = core_->clock().steadyNow() + (error ? kStoreRetryPause : interval);
  if (!error && (pollAgain_ || found.inbox.rows.size() == kRowsPerPoll)) {
    poll(todo);
  }
}

void InboundRunner::lookForGone(Todo& todo) {
  if (!mayHaveGone_ || goneUnderWay_ || closing_) {
    return;
  }
  mayHaveGone_ = false;
  goneUnderWay_ = true;
  askForGone(std::make_shared<const std::vector<reception::QueuedFrame>>(machine_.untaken()), 0, todo);
}

void InboundRunner::askForGone(std::shared_ptr<const std::vector<reception::QueuedFrame>> frames, std::size_t from,
                               Todo& todo) {
  const std::span part = std::span(*frames).subspan(from, std::min(frames->size() - from, kRowsPerPoll));
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), frames = std::move(frames), part, from] {
    commitDetached(
        self->core_->writer(), false,
        [frames, part](store::Store& store) {
          std::vector<store::InboxKey> keys;
          std::ranges::transform(part, std::back_inserter(keys), &reception::QueuedFrame::key);
          return store.inbox().missing(keys);
        },
        [self, frames, part, from](const std::error_code& error, const std::vector<store::InboxKey>& missing) {
          self->act([&](Todo& later) {
            self->mutex_.assertHeld();
            --self->jobs_;
            std::vector<reception::QueuedFrame> gone;
            std::ranges::copy_if(part, std::back_inserter(gone), [&](const reception::QueuedFrame& frame) {
              return std::ranges::binary_search(missing, frame.key);
            });
            self->machine_.gone(gone);
            const std::size_t next = from + part.size();
            if (error || next == frames->size() || self->closing_) {
              // A failed check is repeated at the next look at the file.
              self->mayHaveGone_ = self->mayHaveGone_ || error;
              self->goneUnderWay_ = false;
            } else {
              self->askForGone(frames, next, later);
            }
          });
        });
  });
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
    self->alarm_->set(wake, [weak = self->weak_from_this()] {
      if (const auto awake = weak.lock()) {
        awake->onWake();
      }
    });
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
    // The alarm may be set for a deadline minutes away, and the threads end only after it. It is not armed again.
    boost::asio::post(strand_, [this] { alarm_->cancel(); });
    pool_->join();
  }
}

// Runs on a caller's executor may need the thread that waits here, so this waits only for those on own threads; for a
// handle that outlives its handler, at most as long as a stop may take.
void InboundRunner::awaitQuiet() {
  constexpr std::chrono::milliseconds kGlance{10};
  const SteadyTime patience = core_->clock().steadyNow() + core_->options().stopTimeout;
  while (true) {
    while (core_->writer().help()) {
    }
    const MutexLock lock(mutex_);
    if (!isQuiet(patience)) {
      // Waits briefly each time, because this thread may have to do the writer's work.
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
    isCounted = operatorChanges_ >= 0;
    for (const auto& [id, active] : active_) {
      keys.push_back(active.run->row->key);
    }
  }
  try {
    // Even without keys: after this commit, the writer's earlier jobs of the runner are destroyed, so that none
    // outlives the executor, which may end after its handler.
    commitBlocking(core_->writer(), false, [&](store::Store& store) {
      store.inbox().release(keys);
      if (isCounted) {
        store.inbox().addHandlers(-1);
      }
      return 0;
    });
  } catch (const Error&) {
    // The rows are freed when the file is closed, or when the next process that opens it finds this process dead.
  }
}

}  // namespace ackbox::manager
