#pragma once

#include <string>
#include <vector>

#include "ackbox/tls.hpp"
#include "serve/config/section.hpp"
#include "serve/inbox/fetchers.hpp"

namespace ackbox::serve {

/// Reads and checks the list `fetch` of the inbox: the mailboxes that frames are fetched from. `tls` is that of the
/// sender; without a field `agent`, the mailbox is that of this `agent`.
void readFetch(Section& section, const TlsClientOptions& tls, const std::string& agent, std::vector<FetchRule>& rules);

}  // namespace ackbox::serve
