#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "store/postgres/context.hpp"
#include "store/postgres/inbound/inbound_marks.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The final outcomes of deferred frames, where they say more than `ack`.
class InboxResults {
public:
  InboxResults(Context& context, InboundMarks& marks) : context_(context), marks_(marks) {}

  [[nodiscard]] std::optional<FrameResult> find(const InboundIdentity& frame);
  [[nodiscard]] bool has(std::string_view source, std::string_view messageId);
  /// Whether a frame outside sessions was refused, and was redriven since: then its outcome and its mark are deleted.
  [[nodiscard]] bool forgetOlder(const InboundIdentity& frame);
  void keep(const InboxEnding& end, std::chrono::milliseconds retention);
  void keepDiscarded(const InboxEnding& end, std::chrono::milliseconds retention);
  void purge(std::size_t limit);

private:
  WallTime remember(const InboundFrame& frame, std::chrono::milliseconds retention);
  void keepResult(const InboxRow& row, std::uint64_t number, const FrameResult& result, WallTime keepUntil);
  void dropResult(const InboundIdentity& frame);

  Context& context_;
  InboundMarks& marks_;
};

}  // namespace ackbox::store::postgres
