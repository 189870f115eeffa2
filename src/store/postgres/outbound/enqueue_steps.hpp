#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "store/decisions/uuid.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/outbound/idempotency_keys.hpp"
#include "store/postgres/outbound/new_rows.hpp"
#include "store/postgres/outbound/subscribers.hpp"
#include "store/postgres/outbound/vacated_numbers.hpp"
#include "store/types.hpp"

namespace ackbox::store::postgres {

/// The steps of an enqueue, the same on the store's own connection and on an application's.
class EnqueueSteps {
public:
  EnqueueSteps(Context& context, NewRows& rows);

  /// `peer`: nothing if the frame's peer is not configured.
  EnqueueReceipt enqueue(const Frame& frame, std::optional<delivery::PeerKey> peer);
  /// Stores the frame once for each subscriber, or for none.
  PublishReceipt publish(const Frame& frame, std::span<const Subscriber> subscribers);

  /// Whether messages of so many bytes may not fit. Far from the limits, the counts are up to a second old.
  [[nodiscard]] bool isNearFull(std::size_t messages, std::size_t bytes);

  /// A transaction begins: what the former one did is forgotten.
  void begun() noexcept;

  /// How many messages this transaction has stored or put back.
  std::size_t stored = 0;
  /// The last message that it has stored; empty: none.
  std::string lastStored = {};
  /// What it has superseded.
  std::vector<SupersededMessage> superseded = {};

private:
  /// A pending message that another one supersedes.
  struct Supersedable {
    delivery::MessageKey key = 0;
    delivery::SessionKey session = 0;
    std::string messageId;
    std::uint64_t sequence = 0;
    std::int64_t bytes = 0;
    bool wasTried = false;
  };

  [[nodiscard]] std::optional<EnqueueReceipt> repetitionOf(const Frame& frame);
  [[nodiscard]] std::vector<Supersedable> supersedable(delivery::PeerKey peer, const Frame& frame);
  /// `times`: as how many messages.
  [[nodiscard]] std::optional<EnqueueReceipt> refuse(const Frame& frame, std::span<const Supersedable> replaced,
                                                     std::size_t times = 1);
  [[nodiscard]] EnqueueReceipt store(delivery::PeerKey peer, const Frame& frame, std::span<const Supersedable> replaced,
                                     WallTime now);
  void supersede(delivery::PeerKey peer, std::span<const Supersedable> messages, const Frame& frame,
                 EnqueueReceipt& receipt);

  Context& context_;
  NewRows& rows_;
  IdempotencyKeys keys_;
  VacatedNumbers vacated_;
  UuidGenerator uuids_;
};

}  // namespace ackbox::store::postgres
