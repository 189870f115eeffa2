#include "store/message_ids.hpp"

#include <charconv>

#include "store/uuid.hpp"

namespace ackbox::store {

static_assert(UuidGenerator::kKeyDigits == 10, "kKeyOfMessage reads as many");

bool saysKey(std::string_view messageId, delivery::MessageKey key) noexcept {
  if (messageId.size() < UuidGenerator::kKeyDigits) {
    return false;
  }
  const std::string_view digits = messageId.substr(messageId.size() - UuidGenerator::kKeyDigits);
  delivery::MessageKey said = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), said);
  return error == std::errc() && end == digits.data() + digits.size() && said == key;
}

}  // namespace ackbox::store
