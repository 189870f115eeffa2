#pragma once

#include <memory>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The processes that have the file open, and the release of what dead ones had in flight.
///
/// Thread-safety: none.
class Owners final : public store::Owners, public WriteBack {
public:
  Owners(Context& context, std::shared_ptr<Liveness> liveness);

  /// Gives this store its row, its life held before anyone can see it. From now on nobody's claims cover what is not
  /// live. In a transaction.
  void registerSelf();
  /// Puts back what this store has in flight, and takes its row away. In a transaction.
  void unregisterSelf();
  /// Puts back what dead owners had in flight. In a transaction. Returns how many owners were released.
  std::size_t releaseDead() override;
  /// Cheap, outside a transaction.
  [[nodiscard]] bool anyDead() override;

  /// Reads which others are registered.
  void refresh();
  [[nodiscard]] bool shared() const noexcept override { return !others_.empty(); }

  void begun(bool othersCommitted) override {
    if (othersCommitted) {
      refresh();
    }
  }
  /// The first transaction after a rollback reads them.
  void forget() noexcept override {}

private:
  /// No charge: the messages are not at fault.
  void putBack(std::int64_t owner);

  Context& context_;
  const std::shared_ptr<Liveness> liveness_;
  Statement insert_;
  Statement selectOthers_;
  Statement selectSessions_;
  Statement selectRows_;
  Statement returnRow_;
  Statement releaseInbox_;
  Statement remove_;
  std::vector<std::int64_t> others_;
};

}  // namespace ackbox::store::sqlite
