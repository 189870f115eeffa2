#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ackbox::serve {

/// The host of `host` or `host:port`, in lower case; an IPv6 address keeps its brackets. Nothing if the text has
/// another form, such as with a user name: a more lenient parser would see another host in it.
[[nodiscard]] std::optional<std::string> hostNameOf(std::string_view text);

}  // namespace ackbox::serve
