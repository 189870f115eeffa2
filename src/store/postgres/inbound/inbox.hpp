#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/postgres/context.hpp"
#include "store/postgres/inbound/inbound_marks.hpp"
#include "store/postgres/inbound/inbox_results.hpp"
#include "store/postgres/peers/owners.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Inbound frames that wait for their handler.
///
/// All in a transaction. Thread-safety: none.
class Inbox final : public store::Inbox {
public:
  Inbox(Context& context, InboundMarks& marks, Owners& owners)
      : context_(context), marks_(marks), owners_(owners), results_(context, marks) {}

  [[nodiscard]] std::uint64_t size() override;
  [[nodiscard]] bool isFull(const InboundFrame& frame, const DeferredOptions& limits) override;
  [[nodiscard]] std::optional<InboundLimit> limitReached(const InboundFrame& frame,
                                                         const InboundOptions& limits) override;
  void add(const InboundFrame& frame, bool deferred) override;
  [[nodiscard]] std::optional<std::uint64_t> firstWaiting(const InboundFrame& frame) override;
  [[nodiscard]] std::optional<FrameResult> resultOf(const InboundIdentity& frame) override;
  [[nodiscard]] bool waits(const InboundIdentity& frame) override;
  [[nodiscard]] bool takesAnew(const InboundIdentity& frame) override;
  [[nodiscard]] Admission compare(const InboundIdentity& frame) override;
  [[nodiscard]] NewInboxRows rowsAfter(const InboxCursor& after, std::size_t limit) override;
  [[nodiscard]] std::vector<InboxKey> missing(std::span<const InboxKey> keys) override;
  [[nodiscard]] std::vector<InboxClaim> claim(std::span<const InboxKey> keys,
                                              std::chrono::milliseconds waitMax) override;
  [[nodiscard]] std::vector<bool> holds(std::span<const InboxStart> claims) override;
  void markDeferred(std::span<const InboxKey> keys) override;
  void finish(std::span<const InboxEnding> ends, std::chrono::milliseconds retention) override;
  void retry(std::span<const InboxRetry> runs) override;
  void release(std::span<const InboxKey> keys) override;
  void purge(std::size_t limit) override { results_.purge(limit); }
  void addHandlers(std::int64_t difference) override;
  void noteApplications(std::span<const Application> applications) override;
  [[nodiscard]] InboxKey find(std::string_view source, std::string_view messageId) override;
  [[nodiscard]] bool hasEnded(std::string_view source, std::string_view messageId) override {
    return results_.has(source, messageId);
  }
  [[nodiscard]] InboxChange retryNow(InboxKey key) override;
  [[nodiscard]] InboxChange discard(InboxKey key, const FrameResult& result,
                                    std::chrono::milliseconds retention) override;
  [[nodiscard]] std::int64_t operatorChanges() override;

private:
  void remove(std::span<const InboxEnding> ends);
  [[nodiscard]] InboxChange lookAt(InboxKey key);

  Context& context_;
  InboundMarks& marks_;
  Owners& owners_;
  InboxResults results_;
};

/// SQL: the columns of `readFrame`.
inline constexpr std::string_view kFrameColumns =
    "origin,session,sequence,frame_id,source,epoch,previous_sequence,type,audience,time_ms,expires_at_ms,traceparent,"
    "correlation_id,resent_of,data,data_content_type";
[[nodiscard]] InboundFrame readFrame(Columns& columns);

}  // namespace ackbox::store::postgres
