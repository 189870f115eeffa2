#include "manager/facade/core.hpp"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <exception>
#include <new>
#include <utility>

#include "base/posted_executor.hpp"
#include "base/system_failure.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/run/engine.hpp"
#include "manager/run/puller.hpp"
#include "manager/run/senders.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox::manager {
namespace {

// So that a file that fails now and then is not well in between.
constexpr std::chrono::seconds kTroubleCounts{10};

// With the peers that the store took over from the file.
OutboxOptions withPeersOf(store::Store& store, OutboxOptions options) {
  for (const store::PeerRow& row : store.peers().rows()) {
    const auto given = [&](const PeerOptions& peer) { return peer.name == row.name; };
    if (std::none_of(options.peers.begin(), options.peers.end(), given)) {
      PeerOptions& peer = options.peers.emplace_back();
      peer.name = row.name;
      peer.url = row.url;
      peer.agent = row.agent;
      peer.maxRequests = row.maxRequests;
    }
  }
  return options;
}

}  // namespace

Core::Core(const std::filesystem::path& file, OutboxOptions options)
    : file_(std::filesystem::absolute(file)),
      openFile_(file_),
      store_(store::sqlite::openStore(file, options)),
      options_(withPeersOf(*store_, std::move(options))),
      origin_(store_->origin()),
      logFile_(store_->logFile()),
      ownersFile_(store_->ownersFile()),
      reader_(store::sqlite::openReader(file, options_)),
      log_(options_.log, options_.logLevel, options_.clock),
      tracer_(options_.trace, log_),
      events_([this](const std::string& what) {
        log_.write(LogLevel::error, "callback-threw", "a callback threw, which harms nothing else: " + what,
                   {{"error", what}});
      }),
      eventLog_(events_, log_),
      refusals_(std::make_shared<RefusalCounts>(writer_, options_.clock, !options_.storeExecutor,
                                                [this](const std::string& what) { reportException(what); })),
      storeReport_(*store_, ownersFile_,
                   [this](bool isRaised, std::string sentence) { reportProcess(isRaised, std::move(sentence)); }),
      puller_(std::make_unique<Puller>(*this)),
      waiters_(writer_, options_, [this](const std::string& what) { reportException(what); }),
      writer_(*store_, [this](store::Store& store) { return afterCommit(store); }) {
  logOpening();
  if (options_.storeExecutor) {
    writer_.runOn(options_.storeExecutor);
  } else {
    writer_.startThread();
  }
  openClock_.look({clock().steadyNow(), clock().wallNow()});
}

Core::~Core() {
  refusals_->close();
  waiters_.close();
  // A run holds the core, so none is left; its thread may be the one that lets go of the core.
  if (ownThread_.joinable()) {
    if (ownThread_.get_id() == std::this_thread::get_id()) {
      ownThread_.detach();
    } else {
      ownThread_.join();
    }
  }
}

std::shared_ptr<Engine> Core::engine() const {
  const MutexLock lock(mutex_);
  return engine_.lock();
}

template <typename Use>
bool Core::withEngine(Use&& use) {
  const SharedLock lock(*endLock_);
  const std::shared_ptr<Engine> running = engine();
  if (running) {
    use(*running);
  }
  return running != nullptr;
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
  // With the end lock held alone: no thread that found the engine before still holds it, and none finds it any more.
  const MutexLocks lock(*endLock_, mutex_);
  lastReport_ = report;
  if (const std::shared_ptr<Engine> ended = engine_.lock()) {
    ended->shut();
  }
  engine_.reset();
  endedRun_ = lastRun_;
  runEnded_.notifyAll();
}

// What was posted to an ended run's thread before may still call subscribers there, which may ask for any lock: none is
// held while the thread is waited for. Such a subscriber may also start or drain, and must not wait for its own thread.
// By the end of a wait another run may have begun, whose thread goes on.
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

void Core::start() {
  yieldToRun();
  if (options_.storeExecutor) {
    startOnStoreExecutor();
    return;
  }
  // One thread runs it, so the run needs no strand. It outlives what this call holds of the run.
  const auto context = std::make_shared<boost::asio::io_context>();
  const MutexLock lock(mutex_);
  joinOwnThread();
  if (!engine_.expired()) {
    return;
  }
  if (ownThread_.joinable()) {
    // It is this one, in a callback after its run's end: it cannot wait for itself.
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

// The store's executor stands in for the run's own thread: a world of one thread delivers as `start` does.
void Core::startOnStoreExecutor() {
  const MutexLocks lock(*endLock_, mutex_);
  if (engine_.expired()) {
    adopt(PostedExecutor(options_.storeExecutor), delivery::RunMode::continuous, RunThread::store)
        ->begin(
            [core = shared_from_this()](const StopReport& report, const std::error_code&) { core->runEnded(report); });
  }
}

// What a sender's handler throws takes nothing else with it: the context goes on with the next. The run's own handlers
// throw only for want of memory, outside its events: a timer or a wake-up of the run is lost then, so the run ends.
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

void Core::reportProcess(bool isRaised, std::string sentence) {
  HealthEvent event;
  event.check = HealthCheck::process;
  event.raised = isRaised;
  event.value = isRaised ? 1 : 0;
  event.threshold = 1;
  event.at = clock().wallNow();
  event.sentence = std::move(sentence);
  events_.health.emit(event);
}

void Core::reportRun(delivery::ProcessReport&& report) {
  if (report.use != delivery::FileUse::none) {
    const MutexLock lock(fileMutex_);
    if (report.isRaised && report.isDamage) {
      fileTroubles_[report.use] = {report.sentence, std::nullopt};
    } else if (const auto known = fileTroubles_.find(report.use); known != fileTroubles_.end()) {
      known->second.endedAt = clock().steadyNow();
    }
  }
  reportProcess(report.isRaised, std::move(report.sentence));
}

std::string Core::fileTrouble() const {
  if (!running()) {
    return {};
  }
  const SteadyTime now = clock().steadyNow();
  const MutexLock lock(fileMutex_);
  for (const auto& [use, trouble] : fileTroubles_) {
    if (!trouble.endedAt || now - *trouble.endedAt < kTroubleCounts) {
      return trouble.sentence;
    }
  }
  return {};
}

void Core::reportException(const std::string& what) noexcept {
  try {
    reportProcess(true, "something threw in this process, which goes on: " + what);
  } catch (...) {
    // There is not even the memory to report it.
  }
}

const PeerOptions* Core::peerOptions(std::string_view name) const noexcept {
  const auto found = std::ranges::find(options_.peers, name, &PeerOptions::name);
  return found == options_.peers.end() ? nullptr : &*found;
}

NewCommit Core::takeNewRows() {
  NewCommit made{store_->discovery().take(kNewRowsMax), store_->owners().shared()};
  for (const delivery::SessionKey session : made.rows.damaged) {
    const std::string number = std::to_string(session);
    log_.writeUnasked(
        LogLevel::error, "session-damaged", number,
        "the file does not hold session " + number +
            " as it was written, by a disk's fault: nothing of it is sent or given up, and all other "
            "sessions go on; ackbox verify FILE names what is damaged, and docs/restore.md says what to do",
        {{"row", number}});
  }
  return made;
}

void Core::requireFile() const {
  if (store_->isReplaced()) {
    throw Error(Errc::databaseReplaced, file_.string());
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

// Not on the writer's thread, for which callers that claim wait.
void Core::yieldToRun() {
  if (!writer_.runsInThisThread()) {
    puller_->yieldToRun();
  }
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
  const bool pulling = [this] {
    const MutexLock lock(mutex_);
    return pulling_;
  }();
  if (pulling && options_.storeExecutor) {
    options_.storeExecutor([core = shared_from_this()] { core->puller_->stop(); });
  } else if (pulling) {
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
    // With the gate shared it cannot have ended meanwhile, so it is the last.
    stopped = lastRun_;
  });
  const MutexLock lock(mutex_);
  // On a caller's executor or on the writer's thread, waiting could be waiting for this very thread: the run's own
  // completion reports it.
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

DrainReport Core::drain(bool untilIdle) {
  if (writer_.runsInThisThread()) {
    throw Error(Errc::wouldDeadlock, "nothing was drained");
  }
  yieldToRun();
  // Of this pass alone: while this thread is still busy with its end, another may begin the next.
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
    // Under the lock, so that no stop comes before it.
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
      // The caller gets the first of them once the pass has ended: what the store has of it comes back here.
      if (!thrown) {
        thrown = std::current_exception();
        pass->breakOff(thrown);
      }
    }
  }
  // Let the sender close what it has open.
  guarded([&context] { context.poll(); });
  if (thrown) {
    std::rethrow_exception(thrown);
  }
  if (const std::error_code failure = pass->failure()) {
    throw Error(static_cast<Errc>(failure.value()), "the pass ended early; what it had settled stays settled");
  }
  return pass->drained();
}

void Core::notify() noexcept {
  withEngine([](Engine& running) { running.lookForCommits(); });
}

bool Core::ack(std::string_view messageId) {
  auto settled =
      commitBlocking(writer_, false, [&](store::Store& store) { return store.settles().ackById(messageId); });
  if (!settled) {
    return false;
  }
  AckedEvent event;
  event.messageId = settled->message.messageId;
  event.sequence = settled->message.sequence;
  event.peer = settled->peer;
  event.session = settled->session;
  settledOutside(settled->message, [event](EventHub& events) { events.acked.emit(event); });
  return true;
}

void Core::ackEventCommitted(const store::AckEventOutcome& outcome, const FrameResult& result) {
  using Kind = store::AckEventOutcome::Kind;
  if (outcome.kind == Kind::recalled) {
    withEngine([&](Engine& running) { running.recalledOutside(outcome.message.session, outcome.message.key); });
    return;
  }
  if (outcome.kind != Kind::settled) {
    return;
  }
  const MessageEvent base{outcome.message.messageId, outcome.peer, outcome.session, outcome.message.sequence};
  if (result.outcome == Outcome::ack) {
    settledOutside(outcome.message, [event = AckedEvent{base, result.duplicate, result.result}](EventHub& events) {
      events.acked.emit(event);
    });
  } else {
    FailedEvent event{base, result.code.empty() ? "rejected" : result.code,
                      result.detail.empty() ? result.code : result.detail};
    settledOutside(outcome.message, [failed = std::move(event)](EventHub& events) { events.failed.emit(failed); });
  }
}

Stats Core::stats() const {
  requireFile();
  const RefusalCounts::Values unwritten = refusals_->unwritten();
  Stats stats = reader_->stats();
  stats.refusedUnauthenticated += unwritten.unauthenticated;
  stats.refusedForbidden += unwritten.forbidden;
  store_->latencies().describe(stats.enqueueToAck, clock().steadyNow());
  stats.logNotBatched = store_->whyLogNotBatched();
  return stats;
}

bool Core::running() const {
  const MutexLock lock(mutex_);
  return !engine_.expired();
}

void Core::settledOutside(const store::SettledMessage& message, const std::function<void(EventHub&)>& emit) {
  // Nothing holds the core any more when its end makes the last commits.
  const std::shared_ptr<Core> self = weak_from_this().lock();
  const bool hasRun =
      self && withEngine([&](Engine& running) { running.settledOutside(self, message.session, message.key, emit); });
  if (!hasRun) {
    puller_->settledOutside(message.session, message.key);
    emit(events_);
  }
}

void Core::emitSuperseded(store::Store& store) {
  for (const store::SupersededMessage& superseded : store.outbox().takeSuperseded()) {
    SupersededEvent event;
    event.messageId = superseded.message.messageId;
    event.peer = superseded.peer;
    event.session = superseded.session;
    event.sequence = superseded.message.sequence;
    event.supersededById = superseded.byMessageId;
    event.supersededBySequence = superseded.bySequence;
    settledOutside(superseded.message, [event](EventHub& events) { events.superseded.emit(event); });
  }
}

// The run is woken when the store is free: its first step is a transaction, which would wait for the end of this one.
store::Writer::Tell Core::afterCommit(store::Store& store) {
  using Tell = store::Writer::Tell;
  emitSuperseded(store);
  waiters_.committed(store);
  struct Listener {
    // Held until the run is woken, so that it does not end before. Released after the run. It outlives the function
    // that locks it, which the classes of mutex.hpp do not.
    std::shared_lock<SharedMutex::Native> lock;
    std::shared_ptr<Engine> run;
  };
  Listener found{std::shared_lock(endLock_->native()), engine()};
  if (!found.run) {
    store.discovery().stop();
    return {};
  }
  try {
    const auto listener = std::make_shared<Listener>(std::move(found));
    Tell wake = [listener] {
      try {
        listener->run->wake();
      } catch (const std::exception&) {
        // Its next poll takes in what is queued.
      }
    };
    return listener->run->onCommit([this] { return takeNewRows(); }) ? std::move(wake) : Tell();
  } catch (const std::exception&) {
    // They are committed; the run's next poll reads them, or learns why it cannot.
    return {};
  }
}

}  // namespace ackbox::manager
