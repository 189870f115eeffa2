#pragma once

#include <string>
#include <string_view>

namespace ackbox::campaign {

/// A request to the inbox as bytes, without any help of the library: signed as Standard Webhooks has it. `key` is the
/// text of a `whsec_`; empty: not signed. An empty `agent` is not named. `headers` are further ones, each with its end.
[[nodiscard]] std::string requestOf(std::string_view agent, std::string_view key, std::string_view body,
                                    std::string_view contentType = "application/cloudevents+json",
                                    std::string_view headers = {});

/// A frame outside any session with a fresh id, and `members`, each with a comma in front.
[[nodiscard]] std::string frameOf(std::string_view source, std::string_view type, std::string_view members = {});

/// A number that was not given before.
[[nodiscard]] std::string freshNumber();

}  // namespace ackbox::campaign
