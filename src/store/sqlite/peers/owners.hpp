#pragma once

#include <memory>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The processes that have the file open, and the release of rows that dead ones had in flight.
///
/// Thread-safety: none.
class Owners final : public store::Owners, public WriteBack {
public:
  Owners(Context& context, std::shared_ptr<Liveness> liveness);

  /// Registers this store, and takes its lock before the row is visible. In a transaction.
  void registerSelf();
  /// Releases the rows that this store has in flight, and deletes the store's owner row. In a transaction.
  void unregisterSelf();
  /// Releases the rows that dead owners had in flight. In a transaction. Returns the number of dead owners.
  std::size_t releaseDead() override;
  /// Cheap, outside a transaction.
  [[nodiscard]] bool anyDead() override;

  /// Reads which other owners are registered.
  void refresh();
  [[nodiscard]] bool shared() const noexcept override { return !others_.empty(); }

  void begun(bool othersCommitted) override {
    if (othersCommitted) {
      refresh();
    }
  }
  /// The first transaction after a rollback reads the owners again.
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
