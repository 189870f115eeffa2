#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"
#include "ackbox/options.hpp"
#include "manager/log/tracer.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/wire.hpp"
#include "reception/admission.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// One inbound request inside a group commit: each frame is admitted, handled in its own scope and marked, and the
/// answer is sent after the commit (P5).
class InboundJob final : public store::Job {
public:
  /// The surroundings of the job, which outlive it.
  struct Context {
    const OutboxOptions& outbox;
    const FrameHandler& handler;
    const InboundOptions& limits;
    /// The tracers of the handler's calls, and of the frames that it enqueues.
    const Tracer& handlings;
    const Tracer& enqueues;
    /// Whether ACK events of this request may settle anything.
    bool mayAcknowledge;
    /// Patterns of the agents whose mailboxes the sender keeps.
    std::span<const std::string> mailboxes;
    /// Called after the commit for each result of an ACK event.
    std::function<void(const store::AckEventOutcome& outcome, const FrameResult& result)> ackEventApplied;
    /// Called after the commit if it put frames into the inbox.
    std::function<void()> deferred;
    /// Called after the commit for each limit of a sender that was reached.
    std::function<void(const InboundLimitEvent& event)> limitReached;
    /// Called after the commit for each handler's result that was left out, with the reason.
    std::function<void(const InboundFrame& frame, std::string_view why)> resultLeftOut;
    /// Called after the commit for each frame that the handler deferred, though there is no deferred handler.
    std::function<void(const InboundFrame& frame)> cannotDefer;
    /// Called at the end of each commit. Must not throw.
    std::function<void()> storeAnswered;
    /// The frames that wait in the mailbox of an agent.
    std::function<reception::MailboxFill(const std::string& agent, const std::string& sender)> mailboxFill;
  };

  InboundJob(Context context, InboundRequest request, protocol::DecodedRequest decoded,
             std::function<void(InboundResponse)> respond, std::function<void()> ended);

  void run(store::Store& store) override;
  /// Responds, reports its end, and destroys the job.
  void done(const std::error_code& error) noexcept override;

private:
  /// The state of one frame during its decision.
  struct Work {
    const InboundFrame& frame;
    std::size_t index = 0;
    store::InboundIdentity identity;
    reception::Known known = {};
    HandlerResult answer = {};
    std::optional<std::vector<protocol::NamedResult>> named = {};
  };

  FrameResult process(store::Store& store, reception::RequestAdmission& admission, std::size_t index);
  /// Fills the member of `work.known` that the step asks for. Returns false if the step is an outcome.
  bool findOut(store::Store& store, reception::Step step, Work& work);
  FrameResult perform(store::Store& store, reception::Decision& decision, Work& work);
  static FrameResult repeat(store::Store& store, const store::InboundIdentity& identity);
  HandlerResult call(store::Store& store, std::size_t index);
  void applyAckEvent(store::Store& store, Work& work);
  void noteTaken(const Work& work);
  reception::LimitCheck noteLimit(const InboundFrame& frame, std::optional<InboundLimit> reached);
  /// The lowest number in the frame's session that waits.
  static std::optional<std::uint64_t> firstWaiting(store::Store& store, const InboundFrame& frame);
  [[nodiscard]] std::optional<WallTime> awaySince(const InboundFrame& frame) const;
  [[nodiscard]] bool isAlwaysDeferred(const InboundFrame& frame) const;
  /// Also counts the frame.
  [[nodiscard]] bool isMailboxFull(const InboundFrame& frame);
  [[nodiscard]] store::MarkLife markLife() const;
  void readSessions(store::Store& store, std::span<const reception::SessionReach> reached);
  [[nodiscard]] InboundResponse answer(const std::error_code& error);
  void report() const;

  const Context context_;
  const InboundRequest request_;
  const protocol::DecodedRequest decoded_;
  // One for each frame, computed outside the transaction.
  const std::vector<std::uint64_t> digests_;
  const std::function<void(InboundResponse)> respond_;
  const std::function<void()> ended_;

  // Frames with a handler that ended the transaction: refused without a call when the job runs again.
  std::set<std::size_t> offenders_;

  // The outcome of the last run.
  std::vector<FrameResult> results_;
  std::vector<protocol::SessionProgress> sessions_;
  std::size_t marks_ = 0;
  std::size_t deferrals_ = 0;
  // The frames in each mailbox, for each sender, with those of this request.
  std::map<std::pair<std::string, std::string>, reception::MailboxFill> inMailboxes_;
  std::vector<InboundGap> gaps_;
  std::vector<std::pair<store::AckEventOutcome, FrameResult>> ackEvents_;
  std::vector<InboundLimitEvent> limitsReached_;
  // The index of each frame, with the reason.
  std::vector<std::pair<std::size_t, std::string_view>> resultsLeftOut_;
  // The frames that the handler deferred without a deferred handler.
  std::vector<std::size_t> notDeferred_;
  std::string storeId_;
  std::uint64_t storeEpoch_ = 0;
};

}  // namespace ackbox::manager
