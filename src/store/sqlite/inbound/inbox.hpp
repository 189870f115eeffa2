#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/sqlite/inbound/inbox_results.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// All in a transaction. Thread-safety: none.
class Inbox final : public store::Inbox {
public:
  Inbox(Context& context, InboundMarks& marks);

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
  void purge(std::size_t limit) override;
  void addHandlers(std::int64_t difference) override;
  void noteApplications(std::span<const Application> applications) override;
  [[nodiscard]] InboxKey find(std::string_view source, std::string_view messageId) override;
  [[nodiscard]] bool hasEnded(std::string_view source, std::string_view messageId) override;
  [[nodiscard]] InboxChange retryNow(InboxKey key) override;
  [[nodiscard]] InboxChange discard(InboxKey key, const FrameResult& result,
                                    std::chrono::milliseconds retention) override;
  [[nodiscard]] std::int64_t operatorChanges() override;

private:
  /// The row, and whether it may be changed.
  [[nodiscard]] InboxChange lookAt(InboxKey key);
  /// Claims up to `kInboxTogether` rows; see `claim`.
  void claimTogether(std::span<const InboxKey> keys, std::span<InboxClaim> replies, std::chrono::milliseconds waitMax);
  void nameByIndex(InboxRow& row);
  /// Deletes the rows of `ends`, all of which must exist.
  void remove(std::span<const InboxEnding> ends);

  Context& context_;
  InboundMarks& marks_;
  InboxResults results_;
  Statement insert_;
  Statement selectFirst_;
  Statement selectWaiting_;
  Statement selectNumber_;
  Statement selectAfter_;
  Statement isThere_;
  Statement selectRow_;
  Statement selectRows_;
  Statement selectName_;
  Statement claim_;
  Statement claimMany_;
  Statement holds_;
  Statement selectStarts_;
  Statement markDeferred_;
  Statement remove_;
  Statement removeMany_;
  Statement retry_;
  Statement release_;
  Statement addHandlers_;
  Statement noteApplications_;
  Statement find_;
  Statement retryNow_;
  Statement countOrder_;
  Statement selectOrders_;
};

}  // namespace ackbox::store::sqlite
