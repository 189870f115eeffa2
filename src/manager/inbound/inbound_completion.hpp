#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "base/mutex.hpp"
#include "manager/inbound/inbound_scope.hpp"
#include "manager/log/log.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// How a run of a frame from the inbox ended in the file.
struct InboxEnd {
  enum class Kind : std::uint8_t {
    /// The row is gone, and an ACK event to its sender is enqueued.
    finished,
    /// Charged; to be run again from `dueAt` on.
    retried,
    /// Free again, uncharged.
    released,
    /// Its handler saw it for the first time and deferred it.
    deferred,
    /// The row is another claim's by now: nothing was changed.
    lost,
    /// Nothing could be committed.
    failed,
  };
  Kind kind = Kind::failed;
  WallTime dueAt;
  /// `released`: how long it is not to be taken again here.
  std::chrono::milliseconds pause{0};
};

/// What the runs that end in a commit change in the file, gathered to be changed together. Holds nothing that it is
/// given by reference beyond its commit.
class InboundEnds {
public:
  explicit InboundEnds(const ScopeContext& context) : context_(context) {}

  void finish(const store::InboxRow& row, const FrameResult& result);
  void retry(store::InboxRetry run) { retries_.push_back(run); }
  void release(store::InboxKey key) { released_.push_back(key); }
  void markDeferred(store::InboxKey key) { deferred_.push_back(key); }
  /// Changes it, enqueues the ACK events, and deletes old outcomes.
  void apply(store::Store& store) const;

private:
  const ScopeContext& context_;
  std::vector<store::InboxEnding> finished_;
  std::vector<store::InboxRetry> retries_;
  std::vector<store::InboxKey> released_;
  std::vector<store::InboxKey> deferred_;
};

/// The brief commit at a run's end: the handler's writes, the end of the row and the ACK event commit together (P5).
class InboundCompletion final {
public:
  using Ended = std::function<void(const InboxEnd&)>;
  /// Whether what was accepted then is older than the policy has patience for. Called in the transaction.
  using PastHorizon = std::function<bool(WallTime acceptedAt)>;

  /// `mayDefer`: the effects are a `FrameHandler`'s first look. `interrupted`: a `notNow` is no failure of the run.
  /// `isGivenBack`: nor is it, because the frame was not worked on; but its age counts.
  struct Kind {
    bool mayDefer = false;
    bool interrupted = false;
    bool isGivenBack = false;
    /// With `isGivenBack`, see `InboxEnd`.
    std::chrono::milliseconds pause{0};
  };

  /// `log` gets what did not go well, and outlives it.
  InboundCompletion(const ScopeContext& context, Log& log, std::shared_ptr<const store::InboxRow> row,
                    DeferredEffects effects, Kind kind, PastHorizon isPastHorizon, Ended ended);

  [[nodiscard]] const ScopeContext& context() const noexcept { return context_; }
  [[nodiscard]] store::InboxStart claim() const noexcept { return {row_->key, row_->starts}; }
  /// Runs the effects in the open transaction, and adds to `ends` what is to be changed for it. Starts from scratch
  /// each time. `isHeld`: the row is this claim's still. Throws what `callInScope` throws.
  void run(store::Store& store, bool isHeld, InboundEnds& ends);
  /// Reports how it ended: as `run` said, or, where that was not committed, not at all.
  void done(bool isCommitted) noexcept;

private:
  HandlerResult decide(store::Store& store);
  void fail(InboundEnds& ends);
  void giveUp(InboundEnds& ends, std::string code);
  void finish(InboundEnds& ends);
  /// What was committed.
  void report() const;

  const ScopeContext context_;
  Log& log_;
  const std::shared_ptr<const store::InboxRow> row_;
  const DeferredEffects effects_;
  const Kind kind_;
  const PastHorizon isPastHorizon_;
  const Ended ended_;
  bool offended_ = false;
  // Of this attempt; empty: nothing was thrown.
  std::string thrown_;
  FrameResult result_;
  // Of this attempt, for the log. Empty reason: the run did not fail.
  std::string reason_;
  std::string error_;
  // Why the handler's result was left out; empty: it was not.
  std::string_view leftOut_;
  InboxEnd end_;
};

/// Gathers the ends of runs: those that come while the writer is busy share one job, and its statements.
///
/// Thread-safety: `add` from any thread.
class InboundCompletions : public std::enable_shared_from_this<InboundCompletions> {
public:
  /// `writer` outlives what is added.
  explicit InboundCompletions(store::Writer& writer) : writer_(writer) {}

  void add(std::unique_ptr<InboundCompletion> completion) ACKBOX_EXCLUDES(mutex_);

private:
  class Job;

  /// Takes no more: it is run, or has ended.
  void seal(const Job& job) ACKBOX_EXCLUDES(mutex_);
  /// Without memory it does nothing, and returns false.
  bool submitAlone(std::unique_ptr<InboundCompletion>& completion) noexcept;

  store::Writer& writer_;
  Mutex mutex_;
  // The last one that was submitted, until it is run.
  Job* open_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace ackbox::manager
