#pragma once

#include <optional>
#include <span>
#include <vector>

#include "delivery/transition.hpp"
#include "store/context.hpp"
#include "store/orders.hpp"
#include "store/store.hpp"

namespace ackbox::store {

/// Applies guarded state changes: a row that is not where the settlement says, or is another claim's by now, stays as
/// it is.
///
/// All in a transaction. Thread-safety: none.
class Settles {
public:
  Settles(Context& context, Orders& orders);

  std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements);
  std::optional<Store::AckedById> ackById(std::string_view messageId);
  Store::LaterWord applyWord(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                             const FrameResult& word);
  /// Deletes up to `limit` acknowledged rows whose retention is over by `until`.
  std::size_t purgeAcked(std::size_t limit, WallTime until);

private:
  /// A message found by its id, with what a settlement of it needs.
  struct Located {
    delivery::Settlement settlement;
    std::int64_t owner = 0;
    std::string peer;
    std::string session;
    std::string agent;
  };
  std::optional<Located> locate(std::string_view messageId);
  void finishFailed(const delivery::Settlement& settlement);
  std::optional<SettledMessage> apply(const delivery::Settlement& settlement, std::int64_t owner);

  /// A settlement that was applied, and the row that it met.
  struct Applied {
    const delivery::Settlement& settlement;
    delivery::Next next{};
    delivery::SessionKey session = 0;
    std::int64_t bytes = 0;
    WallTime enqueuedAt{};
    bool retained = false;
  };
  void count(const Applied& applied);

  Context& context_;
  Orders& orders_;
  Statement find_;
  Statement remove_;
  Statement keepAcked_;
  Statement update_;
  Statement locate_;
  Statement purge_;
};

}  // namespace ackbox::store
