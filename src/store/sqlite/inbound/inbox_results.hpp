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

/// The stored outcomes of frames that were in the inbox. An outcome is stored for a limited time if it says more than
/// that the frame was acknowledged. A frame outside sessions has one at most.
///
/// All in a transaction. Thread-safety: none.
class InboxResults {
public:
  InboxResults(Context& context, InboundMarks& marks);

  [[nodiscard]] std::optional<FrameResult> find(const InboundIdentity& frame);
  [[nodiscard]] bool has(std::string_view source, std::string_view messageId);
  /// Whether a frame outside sessions was redriven after it was refused; if so, deletes its outcome and its mark.
  [[nodiscard]] bool forgetOlder(const InboundIdentity& frame);
  /// Keeps the frame's mark, and its outcome if that says more. The row has been deleted.
  void keep(const InboxEnding& end, std::chrono::milliseconds retention);
  /// The same for a frame that even a redrive must not bring back: the outcome applies to any number.
  void keepDiscarded(const InboxEnding& end, std::chrono::milliseconds retention);
  /// Deletes up to `limit` expired outcomes.
  void purge(std::size_t limit);

private:
  /// Until when a frame that ends now is remembered. Keeps its mark as long.
  [[nodiscard]] WallTime remember(const InboundFrame& frame, std::chrono::milliseconds retention);
  /// `number` is the number to which the outcome applies; for a frame outside sessions, see `redriveNumberOf`; 0: any.
  void keepResult(const InboxRow& row, std::uint64_t number, const FrameResult& result, WallTime keepUntil);
  /// Deletes the frame's outcome; for a frame outside sessions, under any number.
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
