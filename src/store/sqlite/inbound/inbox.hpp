#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "store/sqlite/context.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// Inbound frames that wait for their handler, and the last words on those that were worked on. Whoever runs a row owns
/// it, and a dead owner's rows are free again.
///
/// All in a transaction. Thread-safety: none.
class Inbox {
public:
  explicit Inbox(Context& context);

  /// O(1), without a statement: what spares an agent that never defers all further questions.
  [[nodiscard]] std::uint64_t size();
  /// Whether there is no room for a frame of this sender.
  [[nodiscard]] bool isFull(const InboundFrame& frame, const DeferredOptions& limits);

  // --- Receiving.

  /// Keeps an accepted frame. Nothing happens when it waits already.
  void add(const InboundFrame& frame, bool deferred);
  /// The lowest sequence of the frame's session that waits.
  [[nodiscard]] std::optional<std::uint64_t> firstWaiting(const InboundFrame& frame);
  /// What to tell of a duplicate: `defer` while it waits, or the last word that was kept. Nothing: a plain `ack`.
  [[nodiscard]] std::optional<FrameResult> wordOn(const InboundIdentity& frame);

  /// A frame that was accepted and still waits: whether this is it (`duplicate`), or another one under its number or
  /// id.
  [[nodiscard]] Admission compare(const InboundIdentity& frame);

  // --- Running.

  /// Up to `limit` rows behind `after`.
  [[nodiscard]] std::vector<InboxPlace> rowsAfter(InboxKey after, std::size_t limit);
  /// `waitMax`: nothing was told to wait longer; what is due later than that was written by a clock that has been set
  /// back since, and is due.
  [[nodiscard]] InboxClaim claim(InboxKey key, std::chrono::milliseconds waitMax);
  /// Whether that claim is still this store's.
  [[nodiscard]] bool holds(InboxKey key, std::uint32_t starts);
  /// Its handler saw it and deferred it.
  void markDeferred(InboxKey key);
  /// Its handler is done: the row goes, and the word stays for `retention` where it says more than `ack`.
  void finish(const InboxRow& row, const FrameResult& word, std::chrono::milliseconds retention);
  /// A charged run failed: free again from `dueAt` on.
  void retry(InboxKey key, WallTime dueAt, std::string_view error);
  /// Free again at once, without a charge.
  void release(InboxKey key);

  /// Deletes up to `limit` words whose time is over.
  void purge(std::size_t limit);

private:
  Context& context_;
  Statement insert_;
  Statement selectFirst_;
  Statement selectWaiting_;
  Statement selectNumber_;
  Statement selectWord_;
  Statement selectAfter_;
  Statement selectRow_;
  Statement claim_;
  Statement holds_;
  Statement markDeferred_;
  Statement remove_;
  Statement dropWord_;
  Statement keepWord_;
  Statement unmark_;
  Statement retry_;
  Statement release_;
  Statement purge_;
};

}  // namespace ackbox::store
