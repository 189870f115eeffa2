#include "store/decisions/error_text.hpp"

namespace ackbox::store {

std::string_view truncatedError(std::string_view text, std::size_t bytesMax) noexcept {
  if (text.size() <= bytesMax) {
    return text;
  }
  std::size_t end = bytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace ackbox::store
