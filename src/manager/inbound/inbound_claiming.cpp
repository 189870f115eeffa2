// The part of `InboundRunner` that claims the frames that have their turn, and starts their runs.

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "delivery/due.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/inbound/inbound_runner.hpp"

namespace ackbox::manager {
namespace {

constexpr std::size_t kRowsPerClaim = 512;

// The longest wait after a failed run, by its policy or by its handler.
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
        present.wall, room);
    nextAgeCheck_ = overdue.size() == room ? nextAgeCheck_ : present.steady + kAgeCheckPause;
    turns.insert(turns.end(), overdue.begin(), overdue.end());
  }
  std::vector<Claimed> claims;
  claims.reserve(turns.size());
  for (const reception::Turn& turn : turns) {
    claims.push_back({turn});
  }
  return claims;
}

// When the writer comes to the job, it adds the frames that have their turn by then.
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
    // The row stays claimed by this store until the file is closed, or the next handler of this process claims it.
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
  } else if (turn.isOverdue || hasExpired(*shared)) {
    giveUp(turn, shared, todo);
  } else if (shared->deferred && !shared->isDamaged) {
    start(turn, shared, todo);
  } else {
    firstLook(turn, shared, todo);
  }
}

// A frame that waited behind a deferred one: its handler may apply it at once, as on arrival.
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
        {.isGivenBack = true, .hasExpired = self->hasExpired(*row), .pause = kStoreRetryPause},
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
    boost::asio::post(self->executor_, [self, run, handle = std::make_shared<DeferredFrame::Impl>(self, run)] {
      // The handle is held here too, so that an exception ends the run before the loss of the handle does.
      self->callHandler(DeferredFrame(handle), run);
    });
  });
}

}  // namespace ackbox::manager
