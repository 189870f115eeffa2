#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "store/context.hpp"
#include "store/store.hpp"

namespace ackbox::store {

/// What stands for a frame without a sequence in its mark. AGENIUM's ids are unique in their session only; no name has
/// control characters, so a newline keeps the two apart.
[[nodiscard]] std::string markId(std::string_view session, std::string_view id);

/// What was processed: a high-water mark per inbound session, for ever (P6), and a mark per frame outside any session,
/// for a while.
///
/// All in a transaction. Thread-safety: none.
class InboundMarks {
public:
  explicit InboundMarks(Context& context);

  [[nodiscard]] AdmissionReply admit(const InboundIdentity& frame);
  void mark(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life);
  std::size_t purge(std::size_t limit);
  /// What was remembered is in doubt: after a rollback, or another connection's commit.
  void forget() noexcept { epochs_.clear(); }

private:
  using Origin = std::pair<std::string, std::string>;
  /// The highest epoch seen of the sender's store; 0: none.
  std::uint64_t& epochOf(const InboundIdentity& frame);

  Context& context_;
  Statement selectOrigin_;
  Statement markOrigin_;
  Statement selectSession_;
  Statement markSession_;
  Statement selectMessage_;
  Statement markMessage_;
  Statement purge_;
  // Of senders that spoke lately.
  std::map<Origin, std::uint64_t> epochs_;
};

}  // namespace ackbox::store
