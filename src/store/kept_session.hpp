#pragma once

#include <string>
#include <string_view>

#include "ackbox/inbound_frame.hpp"

namespace ackbox::store {

/// The name under which a store keeps the session of an inbound frame. A sender numbers its messages to each agent from
/// 1, so the same session leads to a mailbox and to this agent with the same numbers: the name of a mailbox's session
/// begins with the mailbox. A frame of a mailbox outside any session has the mailbox alone. Names have no control
/// characters, so the two parts cannot be confused.
///
/// Lifetime: the frame must outlive it.
class KeptSession {
public:
  static constexpr char kMailboxEnd = '\x1f';

  explicit KeptSession(const InboundFrame& frame) : KeptSession(frame.mailbox, frame.session) {}
  KeptSession(std::string_view mailbox, std::string_view session) : session_(session) {
    if (!mailbox.empty()) {
      joined_.append(mailbox).append(1, kMailboxEnd).append(session);
    }
  }

  [[nodiscard]] std::string_view name() const noexcept { return joined_.empty() ? session_ : joined_; }

  /// The parts of a kept name.
  [[nodiscard]] static std::string_view mailboxOf(std::string_view kept) noexcept {
    const std::size_t end = kept.find(kMailboxEnd);
    return end == std::string_view::npos ? std::string_view() : kept.substr(0, end);
  }
  [[nodiscard]] static std::string_view sessionOf(std::string_view kept) noexcept {
    return kept.substr(kept.find(kMailboxEnd) + 1);
  }

private:
  std::string_view session_;
  // Empty if the frame is in no mailbox.
  std::string joined_;
};

}  // namespace ackbox::store
