#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/dead_letters.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/outbox.hpp"
#include "store/sqlite/outbound/settles.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// All in a transaction. Thread-safety: none.
class DeadLetters final : public store::DeadLetters {
public:
  DeadLetters(Context& context, Outbox& outbox, Settles& settles, Holds& holds);

  [[nodiscard]] HandChange change(std::string_view messageId, delivery::Transition transition,
                                  std::string_view reason) override;
  [[nodiscard]] SliceReport change(const DeadLetterSlice& slice, delivery::Transition transition,
                                   std::size_t looks) override;
  std::uint64_t repeat(std::span<const delivery::MessageKey> keys) override;
  [[nodiscard]] delivery::MessageKey highestKey() override;

private:
  struct Place {
    delivery::MessageKey key;
    delivery::SessionKey session;
    delivery::PeerKey peer;
    std::string sessionName;
    std::uint64_t sequence;
  };
  /// Moves a dead letter, or an acknowledged message.
  [[nodiscard]] std::uint64_t redrive(const Place& place, MessageState from, std::string_view repeatedId = {});
  [[nodiscard]] std::optional<SettledMessage> settle(const Place& place, MessageState from,
                                                     delivery::Transition transition, std::string_view reason);

  Context& context_;
  Outbox& outbox_;
  Settles& settles_;
  Holds& holds_;
  Statement locate_;
  Statement highest_;
  Statement choose_;
  Statement placeOfAcked_;
};

/// SELECT of `columns` from `o` (#outbox), `s` (#sessions) and `p` (#peers); the last column is whether the filter
/// chooses the row. Looks at dead letters only, in key order. Parameters: above which key, up to which, how many to
/// look at; then the filter's peer, session and reason, `failedBefore`, its retries, its error and its type.
[[nodiscard]] std::string deadLetterSelect(std::string_view columns);

/// The latest instant of failure of a chosen row; the far future if there is no such condition.
[[nodiscard]] WallTime failedBefore(const DeadLetterFilter& filter, WallTime now);

}  // namespace ackbox::store::sqlite
