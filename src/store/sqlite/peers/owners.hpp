#pragma once

#include <memory>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/liveness.hpp"

namespace ackbox::store {

/// The processes that have the file open, and what becomes of the work of those that died.
///
/// Thread-safety: none.
class Owners {
public:
  Owners(Context& context, std::shared_ptr<Liveness> liveness);

  /// Gives this store its row, its life held before anyone can see it. From now on nobody's claims cover what is not
  /// live. In a transaction.
  void registerSelf();
  /// Puts back whatever this store has in flight, and takes its row away. In a transaction.
  void leave();
  /// In a transaction. Returns how many were buried.
  std::size_t buryDead();
  /// Cheap, outside a transaction.
  [[nodiscard]] bool anyDead();

  /// Reads who else is registered.
  void refresh();
  [[nodiscard]] bool shared() const noexcept { return !others_.empty(); }

private:
  /// No charge: the messages are not at fault.
  void putBack(std::int64_t owner);

  Context& context_;
  const std::shared_ptr<Liveness> liveness_;
  Statement insert_;
  Statement selectOthers_;
  Statement selectSessions_;
  Statement returnRows_;
  Statement releaseInbox_;
  Statement remove_;
  std::vector<std::int64_t> others_;
};

}  // namespace ackbox::store
