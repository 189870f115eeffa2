#include "manager/run/engine.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

// Retained rows deleted by one poll, when nothing else is settled.
constexpr std::size_t kPurgedPerPoll = 500;

// Between looks for what others write to the log, so that a busy neighbour does not keep us looking.
constexpr std::chrono::milliseconds kSoon{4};

// Settled rows passed by one poll on the way to the oldest live one: a few milliseconds.
constexpr std::size_t kLooksPerPoll = 5'000;

}  // namespace

// An empty transaction makes the store notice what other connections committed, and bury owners that died.
void Engine::poll() {
  if (pollUnderWay_ || finished_ || stopping_ || failure_) {
    return;
  }
  pollUnderWay_ = true;
  isBehind_ = false;
  tellOfCalendar();
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
      [link = handoff()](const std::error_code& error, const Poll& poll) {
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

void Engine::lookForCommits() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->finished_) {
      self->poll();
    }
  });
}

// On the manager's own thread only: elsewhere time is the caller's, too.
void Engine::watchNeighbours() {
  if (thread_ != RunThread::own || mode_ != RunMode::continuous) {
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

}  // namespace ackbox::manager
