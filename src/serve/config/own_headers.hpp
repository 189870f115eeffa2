#pragma once

#include <memory>

#include "ackbox/secret.hpp"
#include "serve/config/section.hpp"
#include "serve/oauth/oauth_tokens.hpp"

namespace ackbox::serve {

/// Reads and checks where the headers of the user's own come from, for a peer or an application: `headers_file`,
/// `bearer_token_file` or `oauth`, which sets `tokens`.
void readOwnHeaders(Section& section, SecretSource& headers, std::shared_ptr<OauthTokens>& tokens);

}  // namespace ackbox::serve
