#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The processes that have the store open. A process lives as long as its connection, which holds a lock; the server
/// drops the lock however the process ends.
class Owners final : public store::Owners, public Memory {
public:
  explicit Owners(Context& context) : context_(context) {}

  /// In a transaction; takes the lock twice, which the transaction's end does not release.
  void registerSelf();
  /// The agent of another process that has the store open, if it is not this one's; else empty.
  [[nodiscard]] std::string otherAgent();
  /// SQL: whether the connection has the lock still, which foreign code on it may have released. It releases the lock
  /// once and takes it again, so no other process can have it in between.
  [[nodiscard]] std::string whetherHeld() const;
  void unregisterSelf();
  [[nodiscard]] bool shared() const noexcept override { return isShared_; }
  void noteShared(bool isShared) noexcept { isShared_ = isShared; }
  std::size_t releaseDead() override;
  [[nodiscard]] bool anyDead() override;
  /// What other processes may know of this one; each `registerSelf` writes it again.
  void addHandlers(std::int64_t difference);
  void noteApplications(std::string_view lines);

  void committed() noexcept override { committed_ = said_; }
  void rolledBack() noexcept override { said_ = committed_; }

private:
  // Copies without a failure.
  struct Said {
    std::int64_t handlers = 0;
    std::shared_ptr<const std::string> applications = std::make_shared<const std::string>();
  };

  void putBack(std::int64_t owner);

  Context& context_;
  bool isShared_ = false;
  Said said_;
  Said committed_;
};

}  // namespace ackbox::store::postgres
