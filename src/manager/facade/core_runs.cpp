#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "base/posted_executor.hpp"
#include "base/system_failure.hpp"
#include "manager/facade/core.hpp"
#include "manager/run/engine.hpp"
#include "manager/run/puller.hpp"
#include "manager/run/senders.hpp"

// The one run that a core may have: the thread in which it works, and the threads that wait for its end.

namespace ackbox::manager {

std::shared_ptr<Engine> Core::engine() const {
  const MutexLock lock(mutex_);
  return engine_.lock();
}

std::shared_ptr<Engine> Core::adopt(const boost::asio::any_io_executor& strand, delivery::RunMode mode,
                                    RunThread thread) {
  if (!engine_.expired()) {
    throw Error(Errc::alreadyRunning, "a run is under way");
  }
  if (pulling_) {
    throw Error(Errc::alreadyRunning, "messages are being claimed");
  }
  if (!Senders::suffice(options_.peers, sender_ != nullptr)) {
    throw Error(Errc::noSender, "nothing can be delivered");
  }
  {
    const MutexLock lock(fileMutex_);
    fileTroubles_.clear();
  }
  auto begun = std::make_shared<Engine>(shared_from_this(), sender_, strand, mode, thread);
  engine_ = begun;
  ++lastRun_;
  if (mode == delivery::RunMode::continuous) {
    log_.write(LogLevel::info, "started", "messages are being delivered");
  }
  return begun;
}

void Core::runEnded(const StopReport& report) noexcept {
  log_.write(LogLevel::info, "stopped", "no more messages are being delivered",
             {{"released", std::to_string(report.released)},
              {"abandoned_requests", std::to_string(report.abandonedRequests)}});
  // With the end lock held exclusively, no thread still holds the engine that it found earlier, and none can find it.
  const MutexLocks lock(*endLock_, mutex_);
  lastReport_ = report;
  if (const std::shared_ptr<Engine> ended = engine_.lock()) {
    ended->shut();
  }
  engine_.reset();
  endedRun_ = lastRun_;
  runEnded_.notifyAll();
}

void Core::start() {
  yieldToRun();
  if (options_.storeExecutor) {
    startOnStoreExecutor();
    return;
  }
  // One thread runs it, so the run needs no strand. The context outlives this call's references to the run.
  const auto context = std::make_shared<boost::asio::io_context>();
  const MutexLock lock(mutex_);
  joinOwnThread();
  if (!engine_.expired()) {
    return;
  }
  if (ownThread_.joinable()) {
    // The own thread is this thread, in a callback after its run's end: it cannot wait for itself.
    ownThread_.detach();
  }
  const std::shared_ptr<Engine> begun = withDescriptors([&] {
    mutex_.assertHeld();
    return adopt(context->get_executor(), delivery::RunMode::continuous, RunThread::own);
  });
  auto guard = std::make_shared<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>>(
      context->get_executor());
  begun->begin([core = shared_from_this(), guard](const StopReport& report, const std::error_code&) {
    guard->reset();
    core->runEnded(report);
  });
  ownThread_ = std::thread([core = shared_from_this(), context] { core->serve(*context); });
}

// Uses the store's executor as the run's own thread, so that a single-threaded program delivers as with `start`.
void Core::startOnStoreExecutor() {
  const MutexLocks lock(*endLock_, mutex_);
  if (engine_.expired()) {
    adopt(PostedExecutor(options_.storeExecutor), delivery::RunMode::continuous, RunThread::store)
        ->begin(
            [core = shared_from_this()](const StopReport& report, const std::error_code&) { core->runEnded(report); });
  }
}

// An exception of a sender's handler ends only that handler: the context goes on with the next one. The run's own
// handlers throw only if memory is short, outside its events: a timer or a wake-up is then lost, so the run ends.
void Core::serve(boost::asio::io_context& context) noexcept {
  while (!context.stopped()) {
    guarded([&] {
      try {
        context.run();
      } catch (const std::bad_alloc&) {
        const std::shared_ptr<Engine> run = engine();
        if (!run) {
          throw;
        }
        run->breakOff(std::current_exception());
      }
    });
  }
}

void Core::run(const boost::asio::any_io_executor& executor, std::function<void(std::error_code)> handler) {
  std::error_code refused;
  try {
    yieldToRun();
    const MutexLocks lock(*endLock_, mutex_);
    adopt(boost::asio::make_strand(executor), delivery::RunMode::continuous, RunThread::callers)
        ->begin([core = shared_from_this(), executor, call = handler](const StopReport& report,
                                                                      const std::error_code& failure) {
          core->runEnded(report);
          boost::asio::dispatch(executor, [call, failure] { call(failure); });
        });
  } catch (const Error& error) {
    refused = error.code();
  }
  if (refused) {
    boost::asio::post(executor, [call = std::move(handler), refused] { call(refused); });
  }
}

DrainReport Core::drain(bool untilIdle) {
  if (writer_.runsInThisThread()) {
    throw Error(Errc::wouldDeadlock, "nothing was drained");
  }
  yieldToRun();
  // For this pass only: while this thread is still ending it, another thread may begin the next pass.
  boost::asio::io_context context;
  std::shared_ptr<Engine> pass;
  {
    const MutexLock lock(mutex_);
    joinOwnThread();
    pass = withDescriptors([&] {
      mutex_.assertHeld();
      return adopt(context.get_executor(), untilIdle ? delivery::RunMode::untilIdle : delivery::RunMode::once,
                   RunThread::own);
    });
    // Under the lock, so that no `stop` comes before it.
    pass->begin(
        [core = shared_from_this()](const StopReport& report, const std::error_code&) { core->runEnded(report); });
  }
  const auto guard = boost::asio::make_work_guard(context);
  std::exception_ptr thrown;
  while (engine() == pass) {
    try {
      if (!writer_.help()) {
        context.run_one();
      }
    } catch (...) {
      // The caller gets the first exception after the pass has ended: a transaction with the store still ends here.
      if (!thrown) {
        thrown = std::current_exception();
        pass->breakOff(thrown);
      }
    }
  }
  // Lets the sender close its connections.
  guarded([&context] { context.poll(); });
  if (thrown) {
    std::rethrow_exception(thrown);
  }
  if (const std::error_code failure = pass->failure()) {
    throw Error(static_cast<Errc>(failure.value()), "the pass ended early; what it had settled stays settled");
  }
  return pass->drained();
}

// Work posted earlier to an ended run's thread may still call subscribers there, which may take any lock: so no lock is
// held while this waits for the thread. Such a subscriber may also start or drain, and must not wait for its own
// thread. When the wait ends, another run may have begun; its thread goes on.
void Core::joinOwnThread() {
  const std::thread::id self = std::this_thread::get_id();
  while (joined_ != std::thread::id() && joined_ != self) {
    runEnded_.wait(mutex_);
  }
  if (!engine_.expired() || !ownThread_.joinable() || ownThread_.get_id() == self) {
    return;
  }
  const std::thread::id before = joined_;
  joined_ = ownThread_.get_id();
  std::thread ended = std::move(ownThread_);
  {
    const MutexUnlock unlocked(mutex_);
    ended.join();
  }
  joined_ = before;
  runEnded_.notifyAll();
}

StopReport Core::stop() {
  waiters_.cancel();
  StopReport report = stopPull();
  const StopReport ofRun = stopRun();
  report.abandonedRequests += ofRun.abandonedRequests;
  report.released += ofRun.released;
  report.settled += ofRun.settled;
  return report;
}

StopReport Core::stopPull() {
  if (!writer_.runsInThisThread()) {
    return puller_->stop();
  }
  if (!isPulling()) {
    return {};
  }
  if (options_.storeExecutor) {
    options_.storeExecutor([core = shared_from_this()] { core->puller_->stop(); });
  } else {
    std::thread([core = shared_from_this()] { core->puller_->stop(); }).detach();
  }
  return {};
}

StopReport Core::stopRun() {
  std::uint64_t stopped = 0;
  bool needsThisThread = false;
  withEngine([&](Engine& running) {
    running.stop();
    needsThisThread = running.needsThisThread();
    const MutexLock lock(mutex_);
    // With the end lock shared, the run cannot have ended meanwhile, so it is the last one.
    stopped = lastRun_;
  });
  const MutexLock lock(mutex_);
  // On a caller's executor or on the writer's thread, this could wait for its own thread, so it does not wait: the
  // run's completion gives the report.
  const bool own = ownThread_.joinable() && ownThread_.get_id() != std::this_thread::get_id();
  if (needsThisThread || writer_.runsInThisThread() || !own) {
    return {};
  }
  while (endedRun_ < stopped) {
    runEnded_.wait(mutex_);
  }
  const StopReport report = stopped != 0 && endedRun_ == stopped ? lastReport_ : StopReport{};
  joinOwnThread();
  return report;
}

void Core::beginPull() {
  const MutexLock lock(mutex_);
  if (!engine_.expired()) {
    throw Error(Errc::alreadyRunning, "a run is under way");
  }
  pulling_ = true;
}

void Core::endPull() noexcept {
  const MutexLock lock(mutex_);
  pulling_ = false;
}

bool Core::isPulling() const {
  const MutexLock lock(mutex_);
  return pulling_;
}

// Not on the writer's thread, because claiming callers wait for it.
void Core::yieldToRun() {
  if (!writer_.runsInThisThread()) {
    puller_->yieldToRun();
  }
}

bool Core::running() const {
  const MutexLock lock(mutex_);
  return !engine_.expired();
}

}  // namespace ackbox::manager
