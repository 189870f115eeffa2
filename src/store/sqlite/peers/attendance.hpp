#pragma once

#include "ackbox/clock.hpp"
#include "delivery/types.hpp"
#include "store/sqlite/context.hpp"

namespace ackbox::store::sqlite {

/// Whether peers have applications for what they have deferred, as their answers say. Of each peer one type of frames
/// is remembered: the one that it last had none for.
///
/// All in a transaction. Thread-safety: none.
class Attendance {
public:
  explicit Attendance(Context& context);

  /// The peer of `session` has had no application for the type of the message `key` since then.
  void noteNone(delivery::MessageKey key, delivery::SessionKey session, WallTime since);
  /// It has one. The message is still in the file.
  void noteSome(delivery::MessageKey key, delivery::SessionKey session);

private:
  Statement none_;
  Statement some_;
};

}  // namespace ackbox::store::sqlite
