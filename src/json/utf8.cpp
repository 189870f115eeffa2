#include "json/utf8.hpp"

#include <simdjson.h>

namespace ackbox::json {

bool isUtf8(std::string_view text) noexcept {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace ackbox::json
