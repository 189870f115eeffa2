#pragma once

#include <optional>
#include <string>

#include "ackbox/secret.hpp"
#include "serve/config/section.hpp"

namespace ackbox::serve {

/// Reads and checks where the secrets that are shared with a peer or an application come from: `secrets_file` or
/// `secrets_environment`. Returns the field that they come from, or should come from; nothing if they are invalid.
std::optional<std::string> readSecrets(Section& section, SecretSource& secrets);

}  // namespace ackbox::serve
