#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ackbox/frame.hpp"

namespace ackbox {

/// How values of one C++ type are carried: the frame type, and the conversion to and from JSON text. Defined once, used
/// to enqueue (`frame`) and to handle (`Router::on`). ackbox has no serializer of its own.
///
/// Thread-safety: that of its functions.
template <typename Value>
struct Codec {
  /// CloudEvents `type`.
  std::string type = {};
  /// The value as JSON text.
  std::function<std::string(const Value&)> encode = {};
  /// The value in JSON text; throws if the text holds no such value.
  std::function<Value(std::string_view)> decode = {};

  /// A frame that carries `value`; its peer, session and the rest are the caller's to set.
  [[nodiscard]] Frame frame(const Value& value) const {
    Frame made;
    made.type = type;
    made.data = encode(value);
    return made;
  }
};

}  // namespace ackbox
