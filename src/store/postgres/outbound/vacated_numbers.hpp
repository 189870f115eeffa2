#pragma once

#include "delivery/types.hpp"
#include "store/postgres/context.hpp"

namespace ackbox::store::postgres {

/// The numbers above the confirmed one that messages left after they may have been sent: by these, a peer that has
/// accepted one of them is seen to know this store.
class VacatedNumbers {
public:
  explicit VacatedNumbers(Context& context) : context_(context) {}

  enum class Unless : std::uint8_t {
    never,
    /// It was never claimed.
    untried,
  };
  /// Called before the message leaves its number.
  void keep(delivery::MessageKey key, Unless unless);

private:
  Context& context_;
};

}  // namespace ackbox::store::postgres
