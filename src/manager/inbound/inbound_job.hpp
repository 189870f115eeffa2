#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"
#include "ackbox/options.hpp"
#include "manager/log/tracer.hpp"
#include "protocol/wire.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// One inbound request inside a group commit: each frame is admitted, handled in a scope of its own and marked, and the
/// answer is sent after the commit (P5).
class InboundJob final : public store::Job {
public:
  /// What outlives the job.
  struct Context {
    const OutboxOptions& outbox;
    const FrameHandler& handler;
    const InboundOptions& limits;
    /// Of the handler's calls, and of what it enqueues.
    const Tracer& handlings;
    const Tracer& enqueues;
    /// Whether ACK events of this request may settle anything.
    bool mayAcknowledge;
    /// Called after the commit for each result of an ACK event.
    std::function<void(const store::AckEventOutcome& outcome, const FrameResult& result)> ackEventApplied;
    /// Called after the commit when it put frames into the inbox.
    std::function<void()> deferred;
    /// Called after the commit for each limit of a sender that it met.
    std::function<void(const InboundLimitEvent& event)> limitReached;
    /// Called after the commit for each handler's result that was left out, with why.
    std::function<void(const InboundFrame& frame, std::string_view why)> resultLeftOut;
    /// Called with the end of each commit. Must not throw.
    std::function<void()> storeAnswered;
  };

  InboundJob(Context context, InboundRequest request, protocol::DecodedRequest decoded,
             std::function<void(InboundResponse)> respond, std::function<void()> ended);

  void run(store::Store& store) override;
  /// Responds, reports that it ended, and destroys the job.
  void done(const std::error_code& error) noexcept override;

private:
  /// A sender's store is named by that sender: both must agree for two frames to be of one session. The request holds
  /// the texts.
  struct SessionName {
    std::string_view session;
    std::string_view source;
    std::string_view origin;
    auto operator<=>(const SessionName&) const = default;  // NOLINT(modernize-use-nullptr): version 14 misreads it
  };

  /// Says of a deferred frame that its application is away.
  void noteAway(const InboundFrame& frame, FrameResult& result) const;
  FrameResult decide(store::Store& store, std::size_t index);
  FrameResult take(store::Store& store, std::size_t index, const store::InboundIdentity& identity, std::uint64_t gap);
  static FrameResult overLimit(std::string code, std::string detail);
  FrameResult repeat(store::Store& store, const store::InboundIdentity& identity);
  [[nodiscard]] bool isAlwaysDeferred(const InboundFrame& frame) const;
  HandlerResult call(store::Store& store, std::size_t index);
  FrameResult takeAckEvent(store::Store& store, const store::InboundIdentity& identity, std::uint64_t gap,
                           const InboundFrame& frame);
  FrameResult keepForLater(store::Store& store, const store::InboundIdentity& identity, std::uint64_t gap,
                           const InboundFrame& frame, bool deferredByHandler);
  [[nodiscard]] store::MarkLife markLife() const;
  [[nodiscard]] InboundResponse answer(const std::error_code& error);
  static SessionName nameOf(const InboundFrame& frame);
  void nameStores();
  void noteProgress(store::Store& store, const InboundFrame& frame, std::uint64_t accepted,
                    const std::string& acceptedId);
  void report() const;

  const Context context_;
  const InboundRequest request_;
  const protocol::DecodedRequest decoded_;
  // One for each frame, computed outside the transaction.
  const std::vector<std::uint64_t> digests_;
  const std::function<void(InboundResponse)> respond_;
  const std::function<void()> ended_;

  // Frames whose handler ended the transaction: refused without a call when the job runs again.
  std::set<std::size_t> offenders_;

  // The outcome of the last run.
  std::vector<FrameResult> results_;
  std::vector<protocol::SessionProgress> sessions_;
  // Where a session stands among them.
  std::map<SessionName, std::size_t> places_;
  std::set<SessionName> stoppedSessions_;
  // Sessions in which this request has repeated what was accepted before.
  std::set<SessionName> repeatedSessions_;
  std::size_t marks_ = 0;
  std::size_t deferrals_ = 0;
  std::vector<InboundGap> gaps_;
  std::vector<std::pair<store::AckEventOutcome, FrameResult>> ackEvents_;
  std::vector<InboundLimitEvent> limitsReached_;
  // By their place, with why.
  std::vector<std::pair<std::size_t, std::string_view>> resultsLeftOut_;
  std::string storeId_;
  std::uint64_t storeEpoch_ = 0;
};

}  // namespace ackbox::manager
