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
constexpr std::size_t kGroupMessagesMax = 1'024;

// Yields in a row without a new job, after which no further job is expected. They take a small part of an fsync; four
// times as many gathered no more jobs.
constexpr std::size_t kIdleYieldsMax = 16;

// How many jobs that a lock keeps out are tried behind each group.
constexpr std::size_t kRetriedMax = 16;

struct CommitCounters {
  std::atomic<std::uint64_t> inCallers{0};
  std::atomic<std::uint64_t> queued{0};
  std::atomic<std::uint64_t> shared{0};
};
CommitCounters commitTotals;

void countOne(std::atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

// Calls the function once, and destroys it.
void call(Writer::AfterRelease& afterRelease) {
  if (const Writer::AfterRelease taken = std::exchange(afterRelease, nullptr)) {
    taken();
  }
}

}  // namespace

Writer::Writer(Store& store, AfterCommit afterCommit, AfterFailure afterFailure)
    : store_(store), afterCommit_(std::move(afterCommit)), afterFailure_(std::move(afterFailure)) {}

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
  // A thread inside its own commit would wait for itself.
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
  job.keptUntil_ = {};
  {
    const MutexLock lock(mutex_);
    if (!closed_) {
      const bool first = tail_ == nullptr;
      (first ? head_ : tail_->next_) = &job;
      tail_ = &job;
      ++queued_;
      // During a commit, its end wakes the runner.
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
    if (closed_ || head_ != nullptr || lastGroup_ != 1 || committing_ || hasKept_) {
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
    hasKept_ = !kept_.empty();
    if (head_ != nullptr || hasKept_) {
      wakeRunner();
    }
    // Threads in `close` or `help` wait for the end of a commit.
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
    if (committing_ || (head_ == nullptr && !hasKept_)) {
      return false;
    }
    first = takeGroup();
    committing_ = true;
  }
  // Stays set during the `AfterRelease` call, which may release the last owner of this writer.
  const std::thread::id outer = runner_.exchange(std::this_thread::get_id());
  commitQueued(first);
  runner_ = outer;
  return true;
}

void Writer::commitQueued(Job* first) noexcept {
  AfterRelease afterRelease;
  first = kept_.addFollowers(first);
  if (first != nullptr) {
    countOne(commitTotals.queued);
    if (first->next_ != nullptr) {
      countOne(commitTotals.shared);
    }
    if (!commitGroup(first, WhenLocked::wait, afterRelease)) {
      keep(*first, make_error_code(Errc::databaseBusy));
    }
  }
  retryKept(afterRelease);
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
      while (committing_ || (head_ == nullptr && !hasKept_ && !closed_)) {
        wake_.wait(mutex_);
      }
      gather();
      first = takeGroup();
      if (first == nullptr && !hasKept_) {
        return;
      }
      committing_ = true;
    }
    commitQueued(first);
  }
}

// Threads that waited for the last group submit their next jobs as soon as they get a processor. Without waiting for
// them, many threads split into two halves that take turns, and each fsync serves only one half.
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

// Returns false, with nothing done, only if there is one job and another connection holds the lock: that of a row, or
// any if `whenLocked` is `leave`.
bool Writer::commitGroup(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept {
  // Without a thread of the writer, a job's `done` may run a further group.
  const std::thread::id outer = runner_.exchange(std::this_thread::get_id());
  const bool finished = commitAndFinish(first, whenLocked, afterRelease);
  runner_ = outer;
  return finished;
}

bool Writer::commitAndFinish(Job* first, WhenLocked whenLocked, AfterRelease& afterRelease) noexcept {
  const bool single = first->next_ == nullptr;
  const std::error_code failure = single ? tryAlone(*first, whenLocked) : tryCommit(first, whenLocked);
  const bool isKept = isKeptOut(failure);
  const bool isBusy = failure == Errc::databaseBusy;
  if (single && (isKept || (isBusy && whenLocked == WhenLocked::leave))) {
    return false;
  }
  if (single || !failure || isOfAll(failure) || (isBusy && !isKept)) {
    afterRelease = finish(first, failure);
  } else {
    commitEach(first, afterRelease);
  }
  return true;
}

// One of the jobs caused the failure: runs each in its own transaction, so that it fails alone.
void Writer::commitEach(Job* first, AfterRelease& afterRelease) noexcept {
  // One lock may keep out many of them.
  WhenLocked whenLocked = WhenLocked::wait;
  bool allLocked = false;
  while (first != nullptr) {
    Job* next = std::exchange(first->next_, nullptr);
    call(afterRelease);
    const bool follows = allLocked || kept_.isBefore(*first);
    const std::error_code failure = follows ? std::error_code() : tryAlone(*first, whenLocked);
    allLocked = allLocked || isLockOfAll(failure);
    if (follows || isKeptOut(failure)) {
      keep(*first, failure);
      whenLocked = WhenLocked::leave;
    } else {
      afterRelease = finish(first, failure);
      if (isOfAll(failure) && next != nullptr) {
        // These were not run.
        afterRelease = finish(std::exchange(next, nullptr), failure == Errc::outcomeUnknown ? Errc::ioError : failure);
      }
    }
    first = next;
  }
}

void Writer::keep(Job& job, const std::error_code& failure) noexcept {
  explain(job, failure);
  kept_.add(job);
}

// Tries some of them, in turn: all other jobs wait meanwhile.
void Writer::retryKept(AfterRelease& afterRelease) noexcept {
  const std::size_t from = std::exchange(retryFrom_, 0);
  std::size_t place = 0;
  std::size_t keptAgain = 0;
  bool allLocked = false;
  for (Job* job = kept_.takeAll(); job != nullptr; ++place) {
    Job* const next = std::exchange(job->next_, nullptr);
    call(afterRelease);
    if (job->keptUntil_ == SteadyTime()) {
      job->keptUntil_ = store_.steadyNow() + store_.lockWaitMost();
    }
    const bool isTurn = !allLocked && place >= from && place < from + kRetriedMax;
    std::error_code failure = make_error_code(Errc::databaseBusy);
    bool isKept = true;
    if (isTurn && !kept_.isBefore(*job)) {
      failure = tryAlone(*job, WhenLocked::leave);
      isKept = isKeptOut(failure);
      allLocked = isLockOfAll(failure);
    } else {
      why_.swap(job->why_);
    }
    if (isKept && store_.steadyNow() < job->keptUntil_) {
      keep(*job, failure);
      ++keptAgain;
    } else {
      afterRelease = finish(job, failure);
    }
    if (place < from + kRetriedMax) {
      retryFrom_ = keptAgain;
    }
    job = next;
  }
  if (retryFrom_ == keptAgain) {
    retryFrom_ = 0;
  }
}

bool Writer::isKeptOut(const std::error_code& failure) const noexcept {
  return failure && (store_.failedFor() == FailedFor::lock || isLockOfAll(failure));
}

bool Writer::isLockOfAll(const std::error_code& failure) const noexcept {
  return failure && store_.failedFor() == FailedFor::lockOfAll;
}

bool Writer::isOfAll(const std::error_code& failure) const noexcept {
  return failure && store_.failedFor() == FailedFor::absence;
}

std::error_code Writer::tryAlone(Job& job, WhenLocked whenLocked) noexcept {
  std::error_code failure = tryCommit(&job, whenLocked);
  while (failure == Errc::handlerEndedTransaction) {
    failure = tryCommit(&job, whenLocked);
  }
  return failure;
}

// Runs one transaction with all jobs from `first` on, and rolls it back if anything fails. If the disk is full, the log
// may be the cause.
std::error_code Writer::tryCommit(Job* first, WhenLocked whenLocked) noexcept {
  constexpr int kRacesMax = 8;
  std::error_code failure = commitOnce(first, whenLocked);
  for (int race = 0; failure && race < kRacesMax && store_.failedFor() == FailedFor::race; ++race) {
    failure = commitOnce(first, whenLocked);
  }
  return failure == Errc::diskFull && store_.makeRoom() ? commitOnce(first, whenLocked) : failure;
}

std::error_code Writer::commitOnce(Job* first, WhenLocked whenLocked) noexcept {
  try {
    bool durable = false;
    for (const Job* job = first; job != nullptr; job = job->next_) {
      durable = durable || job->durable;
    }
    store_.begin(durable, whenLocked == WhenLocked::wait);
    announce(first);
    for (Job* job = first; job != nullptr; job = job->next_) {
      job->run(store_);
      if (store_.outbox().stored() >= kGroupMessagesMax) {
        putBackAfter(*job);
      }
    }
    store_.commit();
    return {};
  } catch (...) {
    store_.rollback();
    return failed(std::current_exception());
  }
}

std::error_code Writer::failed(const std::exception_ptr& failure) noexcept {
  const std::error_code error = errorOf(failure);
  try {
    why_.clear();
    why_ = circumstancesOf(failure);
    if (afterFailure_) {
      afterFailure_(error, why_);
    }
  } catch (const std::exception&) {
    // Memory is short: the error has no text.
  }
  return error;
}

void Writer::explain(Job& job, const std::error_code& error) const noexcept {
  try {
    job.why_ = error ? why_ : std::string();
  } catch (const std::exception&) {
    // Memory is short: the error has no text.
  }
}

void Writer::announce(const Job* first) {
  announced_.clear();
  for (const Job* job = first; job != nullptr && announced_.size() < kGroupMessagesMax; job = job->next_) {
    job->announce(announced_);
  }
  if (!announced_.empty()) {
    store_.outbox().expect(announced_);
  }
}

// One job may store many messages. The others must not wait for the messages of several such jobs.
void Writer::putBackAfter(Job& last) noexcept {
  Job* const first = std::exchange(last.next_, nullptr);
  if (first == nullptr) {
    return;
  }
  std::size_t count = 1;
  Job* end = first;
  for (; end->next_ != nullptr; end = end->next_) {
    ++count;
  }
  const MutexLock lock(mutex_);
  end->next_ = head_;
  tail_ = head_ == nullptr ? end : tail_;
  head_ = first;
  queued_ += count;
}

Writer::AfterRelease Writer::finish(Job* first, const std::error_code& error) noexcept {
  while (first != nullptr) {
    // `done` may destroy the job.
    Job* const next = std::exchange(first->next_, nullptr);
    explain(*first, error);
    first->done(error);
    first = next;
  }
  return error || !afterCommit_ ? AfterRelease() : afterCommit_(store_);
}

}  // namespace ackbox::store
