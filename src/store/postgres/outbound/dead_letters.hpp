#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/postgres/context.hpp"
#include "store/postgres/outbound/outbox.hpp"
#include "store/postgres/outbound/settles.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Operators' changes of single messages and of many dead letters.
///
/// All in a transaction. Thread-safety: none.
class DeadLetters final : public store::DeadLetters {
public:
  DeadLetters(Context& context, Outbox& outbox, Settles& settles, Holds& holds)
      : context_(context), outbox_(outbox), settles_(settles), holds_(holds) {}

  [[nodiscard]] HandChange change(std::string_view messageId, delivery::Transition transition,
                                  std::string_view reason) override;
  [[nodiscard]] SliceReport change(const DeadLetterSlice& slice, delivery::Transition transition,
                                   std::size_t looks) override;
  std::uint64_t repeat(std::span<const delivery::MessageKey> keys) override;
  [[nodiscard]] delivery::MessageKey highestKey() override;

private:
  struct Place {
    delivery::MessageKey key = 0;
    delivery::SessionKey session = 0;
    delivery::PeerKey peer = 0;
    std::string sessionName;
    int lane = 0;
    std::uint64_t sequence = 0;
  };

  std::uint64_t redrive(const Place& place, MessageState from);
  std::optional<SettledMessage> settle(const Place& place, MessageState from, delivery::Transition transition,
                                       std::string_view reason);

  Context& context_;
  Outbox& outbox_;
  Settles& settles_;
  Holds& holds_;
};

/// SQL: the dead letters with keys above $1 and up to $2, at most $3, each with `columns` and whether the filter
/// ($4 to $10) chooses it, as `deadLetterParameters` gives them.
[[nodiscard]] std::string deadLetterSelect(std::string_view columns);
void addFilter(Parameters& parameters, const DeadLetterFilter& filter, WallTime now);

}  // namespace ackbox::store::postgres
