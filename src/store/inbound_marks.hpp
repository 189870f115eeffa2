#pragma once

#include <chrono>

#include "store/context.hpp"
#include "store/store.hpp"

namespace ackbox::store {

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

private:
  Context& context_;
  Statement selectSession_;
  Statement markSession_;
  Statement selectMessage_;
  Statement markMessage_;
  Statement purge_;
};

}  // namespace ackbox::store
