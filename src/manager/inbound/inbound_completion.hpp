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

/// The end of an inbox frame's run, as committed to the file.
struct InboxEnd {
  enum class Kind : std::uint8_t {
    /// The row is gone, and an ACK event to its sender is enqueued.
    finished,
    /// Charged; to be run again from `dueAt` on.
    retried,
    /// Free again, uncharged.
    released,
    /// Its handler saw it for the first time, and deferred it.
    deferred,
    /// The row now belongs to another claim: nothing was changed.
    lost,
    /// Nothing could be committed.
    failed,
  };
  Kind kind = Kind::failed;
  WallTime dueAt;
  /// For `released`: how long it is not taken again here.
  std::chrono::milliseconds pause{0};
};

/// The changes to the file of all runs that end in one commit, gathered to be applied together. Refers to its arguments
/// only until its commit.
class InboundEnds {
public:
  explicit InboundEnds(const ScopeContext& context) : context_(context) {}

  void finish(const store::InboxRow& row, const FrameResult& result);
  void retry(store::InboxRetry run) { retries_.push_back(run); }
  void release(store::InboxKey key) { released_.push_back(key); }
  void markDeferred(store::InboxKey key) { deferred_.push_back(key); }
  /// Applies the changes, enqueues the ACK events, and deletes old outcomes.
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
  /// Whether a frame accepted at `acceptedAt` is older than the horizon of the policy. Called in the transaction.
  using PastHorizon = std::function<bool(WallTime acceptedAt)>;

  /// `mayDefer`: the effects are a `FrameHandler`'s first look. `interrupted`: a `notNow` is not a failure of the run.
  /// `isGivenBack`: the same, because the frame was not worked on; but its age counts.
  struct Kind {
    bool mayDefer = false;
    bool interrupted = false;
    bool isGivenBack = false;
    /// The frame's expiry has passed: it ends as `expired`, and its effects are not called.
    bool hasExpired = false;
    /// With `isGivenBack`, see `InboxEnd`.
    std::chrono::milliseconds pause{0};
  };

  /// `log` gets the failures, and outlives this object.
  InboundCompletion(const ScopeContext& context, Log& log, std::shared_ptr<const store::InboxRow> row,
                    DeferredEffects effects, Kind kind, PastHorizon isPastHorizon, Ended ended);

  [[nodiscard]] const ScopeContext& context() const noexcept { return context_; }
  [[nodiscard]] store::InboxStart claim() const noexcept { return {row_->key, row_->starts}; }
  /// Runs the effects in the open transaction, and adds the resulting changes to `ends`. Starts from scratch each time.
  /// `isHeld`: the row still belongs to this claim. Passes on the exceptions of `callInScope`.
  void run(store::Store& store, bool isHeld, InboundEnds& ends);
  /// Reports the end that `run` decided, or `failed` if that was not committed.
  void done(bool isCommitted) noexcept;

private:
  HandlerResult decide(store::Store& store);
  void fail(InboundEnds& ends);
  void giveUp(InboundEnds& ends, std::string code);
  void finish(InboundEnds& ends);
  /// Logs the committed end.
  void report() const;

  const ScopeContext context_;
  Log& log_;
  const std::shared_ptr<const store::InboxRow> row_;
  const DeferredEffects effects_;
  const Kind kind_;
  const PastHorizon isPastHorizon_;
  const Ended ended_;
  bool offended_ = false;
  // The exception of this attempt; empty: none.
  std::string thrown_;
  FrameResult result_;
  // The failure of this attempt, for the log. Empty reason: the run did not fail.
  std::string reason_;
  std::string error_;
  // The reason for leaving out the handler's result; empty: it was not left out.
  std::string_view leftOut_;
  InboxEnd end_;
};

/// Gathers the ends of runs: those that come while the writer is busy share one job and its SQL statements.
///
/// Thread-safety: `add` from any thread.
class InboundCompletions : public std::enable_shared_from_this<InboundCompletions> {
public:
  /// `writer` outlives the completions that are added.
  explicit InboundCompletions(store::Writer& writer) : writer_(writer) {}

  void add(std::unique_ptr<InboundCompletion> completion) ACKBOX_EXCLUDES(mutex_);

private:
  class Job;

  /// Adds nothing more to `job`: it runs, or has ended.
  void seal(const Job& job) ACKBOX_EXCLUDES(mutex_);
  /// If memory is short, does nothing and returns false.
  bool submitAlone(std::unique_ptr<InboundCompletion>& completion) noexcept;

  store::Writer& writer_;
  Mutex mutex_;
  // The job that was submitted last, until it runs.
  Job* open_ ACKBOX_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace ackbox::manager
