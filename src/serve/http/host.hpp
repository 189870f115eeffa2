#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ackbox::serve {

/// The host of `host` or `host:port`, in small letters; brackets of an IPv6 address stay. Nothing where it is neither,
/// such as with a user's name before it: a more lenient reader would see another host in it.
[[nodiscard]] std::optional<std::string> hostNameOf(std::string_view text);

}  // namespace ackbox::serve
