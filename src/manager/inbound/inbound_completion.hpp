#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include "ackbox/deferred_frame.hpp"
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

/// Enqueues the outcome of a deferred frame to its sender, where that is a peer of this agent by its agent URI.
void enqueueAckEvent(store::Store& store, const std::vector<PeerOptions>& peers, const InboundFrame& frame,
                     const FrameResult& result);

/// The brief commit at a run's end: the handler's writes, the end of the row and the ACK event commit together (P5).
class InboundCompletion final : public store::Job {
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

  void run(store::Store& store) override;
  /// Reports how it ended, and destroys the job.
  void done(const std::error_code& error) noexcept override;

private:
  HandlerResult decide(store::Store& store);
  void fail(store::Store& store, FrameResult& result);
  void giveUp(store::Store& store, FrameResult& result, std::string code);
  void finish(store::Store& store, const FrameResult& result);
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
  // Of this attempt, for the log. Empty reason: the run did not fail.
  std::string reason_;
  std::string error_;
  // Why the handler's result was left out; empty: it was not.
  std::string_view leftOut_;
  InboxEnd end_;
};

}  // namespace ackbox::manager
