#pragma once

#include "ackbox/clock.hpp"
#include "delivery/types.hpp"
#include "store/sqlite/context.hpp"

namespace ackbox::store::sqlite {

/// Whether peers have applications for the frames that they have deferred, according to their answers. For each peer,
/// remembers one type of frames: the last one without an application.
///
/// All in a transaction. Thread-safety: none.
class Attendance {
public:
  explicit Attendance(Context& context);

  /// The peer of `session` has had no application for the type of the message `key` since then.
  void noteNone(delivery::MessageKey key, delivery::SessionKey session, WallTime since);
  /// The peer has an application for it. The message is still in the file.
  void noteSome(delivery::MessageKey key, delivery::SessionKey session);

private:
  Statement none_;
  Statement some_;
};

}  // namespace ackbox::store::sqlite
