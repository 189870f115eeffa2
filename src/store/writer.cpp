#include "store/writer.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "store/failure.hpp"
#include "store/store.hpp"

namespace ackbox::store {
namespace {

// More would hold the write lock for longer without saving a measurable part of an fsync.
constexpr std::size_t kGroupJobsMax = 1'024;

// In a row without a new job: then the others have something else to do. A small part of an fsync; four times as many
// gathered no more.
constexpr std::size_t kIdleYieldsMax = 16;

struct CommitCounters {
  std::atomic<std::uint64_t> inCallers{0};
  std::atomic<std::uint64_t> queued{0};
  std::atomic<std::uint64_t> shared{0};
};
CommitCounters commitTotals;

void countOne(std::atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

// Once, and destroyed by its end.
void call(Writer::AfterRelease& afterRelease) {
  if (const Writer::AfterRelease taken = std::exchange(afterRelease, nullptr)) {
    taken();
  }
}

}  // namespace

Writer::Writer(Store& store, AfterCommit afterCommit) : store_(store), afterCommit_(std::move(afterCommit)) {}

Writer::~Writer() {
  close();
}

void Writer::startThread() {
  thread_ = std::thread([this] { loop(); });
}

void Writer::runOn(Post post) {
  post_ = std::move(post);
  link_ = std::make_shared<Writer*>(this);
}

void Writer::askToRun() noexcept {
  post_([link = std::weak_ptr<Writer*>(link_)] {
    if (const auto found = link.lock()) {
      (*found)->runOnce();
    }
  });
}

void Writer::wakeRunner() noexcept {
  if (post_) {
    askToRun();
  } else {
    wake_.notifyOne();
  }
}

bool Writer::help() {
  if (!post_) {
    return false;
  }
  // Inside its own commit it would wait for itself.
  if (runner_.load() != std::this_thread::get_id()) {
    const MutexLock lock(mutex_);
    while (committing_) {
      wake_.wait(mutex_);
    }
  }
  return runOnce();
}

Writer::Totals Writer::totals() noexcept {
  return {commitTotals.inCallers.load(), commitTotals.queued.load(), commitTotals.shared.load()};
}

void Writer::submit(Job& job) noexcept {
  job.next_ = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!closed_) {
      const bool first = tail_ == nullptr;
      (first ? head_ : tail_->next_) = &job;
      tail_ = &job;
      ++queued_;
      // The end of a commit that is under way does it otherwise.
      if (first && !committing_) {
        wakeRunner();
      }
      return;
    }
  }
  job.done(make_error_code(Errc::stopped));
}

bool Writer::commitHere(Job& job, WhenLocked whenLocked) noexcept {
  {
    const MutexLock lock(mutex_);
    if (closed_ || head_ != nullptr || lastGroup_ != 1 || committing_) {
      return false;
    }
    committing_ = true;
  }
  job.next_ = nullptr;
  AfterRelease afterRelease;
  const bool finished = commitGroup(&job, whenLocked, afterRelease);
  if (finished) {
    countOne(commitTotals.inCallers);
  }
  endCommit(std::move(afterRelease));
  return finished;
}

void Writer::endCommit(AfterRelease afterRelease) noexcept {
  {
    const MutexLock lock(mutex_);
    committing_ = false;
    if (head_ != nullptr) {
      wakeRunner();
    }
    // Those who wait for the end of every commit.
    if (closed_ || post_) {
      wake_.notifyAll();
    }
  }
  call(afterRelease);
}

bool Writer::runOnce() {
  Job* first = nullptr;
  {
    const MutexLock lock(mutex_);
    if (committing_ || head_ == nullptr) {
      return false;
    }
    first = takeGroup();
    committing_ = true;
  }
  // Up to the end of that call, with which the last owner of this writer may go.
  const std::thread::id outer = runner_.exchange(std::this_thread::get_id());
  commitQueued(first);
  runner_ = outer;
  return true;
}

void Writer::commitQueued(Job* first) noexcept {
  countOne(commitTotals.queued);
  if (first->next_ != nullptr) {
    countOne(commitTotals.shared);
  }
  AfterRelease afterRelease;
  commitGroup(first, WhenLocked::wait, afterRelease);
  endCommit(std::move(afterRelease));
}

void Writer::close() noexcept {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    wake_.notifyAll();
    while (!thread_.joinable() && committing_) {
      wake_.wait(mutex_);
    }
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  while (runOnce()) {
  }
  link_.reset();
}

void Writer::loop() noexcept {
  loop_ = std::this_thread::get_id();
  while (true) {
    Job* first = nullptr;
    {
      const MutexLock lock(mutex_);
      while (committing_ || (head_ == nullptr && !closed_)) {
        wake_.wait(mutex_);
      }
      gather();
      first = takeGroup();
      if (first == nullptr) {
        return;
      }
      committing_ = true;
    }
    commitQueued(first);
  }
}

// Threads whose jobs were just done bring their next ones as soon as they get a processor. Not waited for, a crowd
// falls into two halves that take turns, and each fsync serves one of them.
void Writer::gather() noexcept {
  if (returning_ < 2 || queued_ == 0) {
    return;
  }
  const std::size_t expected = std::min(queued_ + returning_, kGroupJobsMax);
  std::size_t idle = 0;
  for (std::size_t before = queued_; queued_ < expected && idle < kIdleYieldsMax && !closed_; before = queued_) {
    {
      const MutexUnlock unlocked(mutex_);
      std::this_thread::yield();
    }
    idle = queued_ == before ? idle + 1 : 0;
  }
}

Job* Writer::takeGroup() noexcept {
  Job* const first = head_;
  Job* last = first;
  std::size_t count = 1;
  returning_ = first != nullptr && first->awaited ? 1 : 0;
  for (; last != nullptr && last->next_ != nullptr && count < kGroupJobsMax; ++count) {
    last = last->next_;
    returning_ += last->awaited ? 1 : 0;
  }
  lastGroup_ = count;
  queued_ -= first == nullptr ? 0 : count;
  if (last != nullptr) {
    head_ = std::exchange(last->next_, nullptr);
    tail_ = head_ == nullptr ? nullptr : tail_;
  }
  return first;
}

// False, with nothing done, only where another's lock is not to be waited for.
bool Writer::commitGroup(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept {
  // A job's `done` may run a group of its own where there is no thread.
  const std::thread::id outer = runner_.exchange(std::this_thread::get_id());
  const bool finished = commitAndFinish(first, whenLocked, afterRelease);
  runner_ = outer;
  return finished;
}

bool Writer::commitAndFinish(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept {
  const std::error_code failure = tryCommit(first, whenLocked);
  if (failure == Errc::databaseBusy && whenLocked == WhenLocked::leave) {
    return false;
  }
  if (!failure || failure == Errc::databaseBusy) {
    afterRelease = finish(first, failure);
    return true;
  }
  const bool single = first->next_ == nullptr;
  // One of them is to blame: each on its own, so that it fails alone.
  while (first != nullptr) {
    Job* const next = std::exchange(first->next_, nullptr);
    std::error_code alone = single ? failure : tryCommit(first, WhenLocked::wait);
    while (alone == Errc::handlerEndedTransaction) {
      alone = tryCommit(first, WhenLocked::wait);
    }
    afterRelease = finish(first, alone);
    first = next;
    if (first != nullptr) {
      call(afterRelease);
    }
  }
  return true;
}

// One transaction with all the jobs from `first` on; rolled back when anything in it fails. Where the disk is full, the
// log may be what fills it.
std::error_code Writer::tryCommit(Job* first, WhenLocked whenLocked) noexcept {
  const std::error_code failure = commitOnce(first, whenLocked);
  return failure == Errc::diskFull && store_.makeRoom() ? commitOnce(first, whenLocked) : failure;
}

std::error_code Writer::commitOnce(Job* first, WhenLocked whenLocked) noexcept {
  try {
    bool durable = false;
    for (const Job* job = first; job != nullptr; job = job->next_) {
      durable = durable || job->durable;
    }
    store_.begin(durable, whenLocked == WhenLocked::wait);
    for (Job* job = first; job != nullptr; job = job->next_) {
      job->run(store_);
    }
    store_.commit();
    return {};
  } catch (...) {
    store_.rollback();
    return errorOf(std::current_exception());
  }
}

Writer::AfterRelease Writer::finish(Job* first, const std::error_code& error) noexcept {
  while (first != nullptr) {
    // `done` may destroy the job.
    Job* const next = std::exchange(first->next_, nullptr);
    first->done(error);
    first = next;
  }
  return error || !afterCommit_ ? AfterRelease() : afterCommit_(store_);
}

}  // namespace ackbox::store
