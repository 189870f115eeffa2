#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/sqlite/context.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The outcomes that are kept of frames which were in the inbox, for a while: of those that say more than that the
/// frame was acknowledged. Of a frame outside sessions there is one at most.
///
/// All in a transaction. Thread-safety: none.
class InboxResults {
public:
  InboxResults(Context& context, InboundMarks& marks);

  [[nodiscard]] std::optional<FrameResult> find(const InboundIdentity& frame);
  [[nodiscard]] bool has(std::string_view source, std::string_view messageId);
  /// Whether a frame outside sessions was redriven since it was refused: then its outcome and its mark are gone.
  [[nodiscard]] bool forgetOlder(const InboundIdentity& frame);
  /// Keeps the frame's mark, and its outcome where that says more. Its row is gone.
  void keep(const InboxEnding& end, std::chrono::milliseconds retention);
  /// The same of a frame that must not come back by a redrive either: the outcome is about any number.
  void keepDiscarded(const InboxEnding& end, std::chrono::milliseconds retention);
  /// Deletes up to `limit` of those that were kept for their time.
  void purge(std::size_t limit);

private:
  /// Until when a frame that ends now is remembered. Its mark is, from here on.
  [[nodiscard]] WallTime remember(const InboundFrame& frame, std::chrono::milliseconds retention);
  /// `number` is the one that it is about: of a frame outside sessions, see `redriveNumberOf`; 0: any.
  void keepResult(const InboundFrame& frame, std::uint64_t number, const FrameResult& result, WallTime keepUntil);
  /// Of a frame outside sessions: whatever was kept of it.
  void dropResult(const InboundIdentity& frame);

  Context& context_;
  InboundMarks& marks_;
  Statement selectResult_;
  Statement dropResult_;
  Statement keepResult_;
  Statement unmark_;
  Statement purge_;
  Statement selectOldResult_;
  Statement findResult_;
};

}  // namespace ackbox::store::sqlite
